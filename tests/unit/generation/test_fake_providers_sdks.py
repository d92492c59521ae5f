"""The fake providers as the vendors' own clients and documentation have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.providers import (
    FakeProvider,
    answer,
    auth_error,
    eventstream,
    fails_midway,
    overflow,
    overloaded,
    quota,
    rate_limited,
    refused_content,
    server_error,
    sigv4,
)
from tests.providers.exchange import Request
from tests.unit.generation.asking import COUNTS, MESSAGES, TEXT, ask, forget_keys, path_of, signed


@pytest.fixture(autouse=True)
def without_keys(monkeypatch):
    forget_keys(monkeypatch)


# --- OpenAI's SDK


def sdk(server: FakeProvider) -> Any:
    openai = pytest.importorskip("openai")
    if server.provider == "azure":
        return openai.AzureOpenAI(
            api_key=server.secrets[0], azure_endpoint=server.url, api_version="2024-10-21", max_retries=0
        )
    return openai.OpenAI(api_key=server.secrets[0], base_url=f"{server.url}/v1", max_retries=0)


@pytest.mark.parametrize("provider", ["openai", "azure", "compatible"])
def test_openai_sdk_reads_whole_answers_and_streams(provider):
    with FakeProvider(provider, [answer(TEXT)]) as server, sdk(server) as client:
        whole = client.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES)
        assert whole.choices[0].message.content == TEXT
        assert whole.choices[0].finish_reason == "stop"
        assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == COUNTS
        chunks = list(
            client.chat.completions.create(
                model="gpt-4o-mini", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
            )
        )
        pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        assert "".join(piece or "" for piece in pieces) == TEXT
        assert chunks[-1].choices == []
        assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == COUNTS
        assert [request.stream for request in server.asked] == [False, True]


def test_openai_sdk_gets_no_usage_of_a_stream_unasked():
    with FakeProvider("openai", [answer(TEXT)]) as server, sdk(server) as client:
        chunks = list(client.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES, stream=True))
        assert all(chunk.usage is None and chunk.choices for chunk in chunks)


@pytest.mark.parametrize(
    ("behaviour", "error", "code"),
    [
        (rate_limited(3), "RateLimitError", "rate_limit_exceeded"),
        (quota(), "RateLimitError", "insufficient_quota"),
        (quota("limit"), "RateLimitError", "project_spend_limit_exceeded"),
        (auth_error(), "AuthenticationError", "invalid_api_key"),
        (overflow(), "BadRequestError", "context_length_exceeded"),
        (overloaded(), "InternalServerError", "server_is_overloaded"),
        (server_error(500), "InternalServerError", None),
    ],
)
def test_openai_sdk_reads_the_errors(behaviour, error, code):
    openai = pytest.importorskip("openai")
    raises = pytest.raises(getattr(openai, error))
    with FakeProvider("openai", [behaviour]) as server, sdk(server) as client, raises as raised:
        client.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES)
    assert raised.value.code == code
    assert raised.value.response.headers.get("retry-after") == ("3" if behaviour.kind == "rate" else None)


@pytest.mark.parametrize("provider", ["openai", "azure"])
@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"max_tokens": 100}, "unsupported_parameter"),
        ({"temperature": 0}, "unsupported_value"),
        ({"temperature": 1, "max_completion_tokens": 100}, None),
    ],
)
def test_a_reasoning_model_takes_no_max_tokens_and_no_temperature(provider, given, code):
    openai = pytest.importorskip("openai")
    with FakeProvider(provider) as server, sdk(server) as client:
        try:
            client.chat.completions.create(model="gpt-5.5", messages=MESSAGES, **given)
            found = None
        except openai.BadRequestError as error:
            found = error.code
        assert found == code
        assert client.chat.completions.create(model="gpt-4o-mini", messages=MESSAGES, **given)


def test_azure_speaks_by_deployment_and_by_model():
    openai = pytest.importorskip("openai")
    with FakeProvider("azure", [answer(TEXT)]) as server:
        with openai.OpenAI(api_key=server.secrets[0], base_url=f"{server.url}/openai/v1", max_retries=0) as client:
            assert client.chat.completions.create(model="gpt-5.5", messages=MESSAGES).model == "gpt-5.5"
        without_version = httpx.post(
            f"{server.url}/openai/deployments/gpt-5.5/chat/completions", headers={"api-key": server.secrets[0]}
        )
        assert without_version.json() == {"error": {"code": "404", "message": "Resource not found"}}


def test_azure_refuses_a_prompt_that_its_filter_caught():
    openai = pytest.importorskip("openai")
    with FakeProvider("azure", [refused_content()]) as server, sdk(server) as client:
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError) as raised:
                client.chat.completions.create(model="gpt-5.5", messages=MESSAGES, stream=stream)
            assert raised.value.body["innererror"]["code"] == "ResponsibleAIPolicyViolation"


# --- Amazon's


def bedrock(server: FakeProvider, secret: str = "", region: str = "us-east-1") -> Any:
    boto3 = pytest.importorskip("boto3")
    from botocore.config import Config

    return boto3.client(
        "bedrock-runtime",
        region_name=region,
        endpoint_url=server.url,
        aws_access_key_id=server.secrets[0],
        aws_secret_access_key=secret or server.secrets[1],
        config=Config(retries={"total_max_attempts": 1}),
    )


CONVERSATION: dict[str, Any] = {
    "modelId": "us.anthropic.claude-sonnet-4-6-v1:0",
    "system": [{"text": "Be short."}],
    "messages": [{"role": "user", "content": [{"text": "Where?"}]}],
}


def test_boto3_converses():
    with FakeProvider("bedrock", [answer(TEXT, thoughts="Hm.")]) as server:
        client = bedrock(server)
        whole = client.converse(**CONVERSATION)
        assert whole["output"]["message"]["content"][-1] == {"text": TEXT}
        assert whole["stopReason"] == "end_turn"
        assert (whole["usage"]["inputTokens"], whole["usage"]["outputTokens"]) == (4, 16 + 1)
        events = list(client.converse_stream(**CONVERSATION)["stream"])
        deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
        assert "".join(delta.get("text", "") for delta in deltas) == TEXT
        assert [next(iter(event)) for event in events[-2:]] == ["messageStop", "metadata"]
        assert events[-1]["metadata"]["usage"]["outputTokens"] == 16 + 1
        assert server.asked[0].model == CONVERSATION["modelId"]
        assert server.asked[0].messages == (("system", "Be short."), ("user", "Where?"))


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (rate_limited(), "ThrottlingException"),
        (quota(), "ServiceQuotaExceededException"),
        (quota("period"), "ThrottlingException"),
        (auth_error(), "AccessDeniedException"),
        (overflow(), "ValidationException"),
        (overloaded(), "ServiceUnavailableException"),
        (server_error(), "InternalServerException"),
    ],
)
def test_boto3_reads_the_errors(behaviour, code):
    with FakeProvider("bedrock", [behaviour]) as server:
        client = bedrock(server)
        with pytest.raises(getattr(client.exceptions, code)):
            client.converse(**CONVERSATION)


def test_boto3_reads_an_error_within_a_stream():
    from botocore.exceptions import EventStreamError

    raises = pytest.raises(EventStreamError, match="serviceUnavailableException")
    with FakeProvider("bedrock", [fails_midway(3, TEXT)]) as server, raises:
        list(bedrock(server).converse_stream(**CONVERSATION)["stream"])


@pytest.mark.parametrize(("secret", "region"), [("wrong", "us-east-1"), ("", "eu-central-1")])
def test_a_signature_must_be_right_and_of_the_right_region(secret, region):
    from botocore.exceptions import ClientError

    with FakeProvider("bedrock") as server:
        with pytest.raises(ClientError) as raised:
            bedrock(server, secret, region).converse(**CONVERSATION)
        assert raised.value.response["Error"]["Code"] == "InvalidSignatureException"


def test_a_changed_body_has_another_signature():
    pytest.importorskip("botocore")
    with FakeProvider("bedrock") as server:
        path = path_of(server)
        body = b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'
        headers = {"content-type": "application/json", **signed(server, path, body, server.secrets[1])}
        assert httpx.post(server.url + path, content=body, headers=headers).status_code == 200
        found = httpx.post(server.url + path, content=body.replace(b"hi", b"ho"), headers=headers)
        assert found.status_code == 403
        assert found.headers["x-amzn-errortype"].startswith("InvalidSignatureException:")


@pytest.mark.parametrize(
    "path", ["/model/a/converse", "/model/a.b-v1%3A0/invoke", "/model/arn%3Aaws%3Ab%2Fc/invoke?x=1&a=%20~"]
)
def test_signatures_are_those_of_botocore(path):
    auth = pytest.importorskip("botocore.auth")
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    theirs = AWSRequest("POST", f"http://127.0.0.1:99{path}", {"x-spaces": "a   b"}, b"body")
    auth.SigV4Auth(Credentials("id", "secret"), "bedrock", "us-east-1").add_auth(theirs)
    headers = {name.lower(): value for name, value in theirs.headers.items()} | {"host": "127.0.0.1:99"}
    query = dict(httpx.QueryParams(path.partition("?")[2]))
    ours = Request("POST", path, path, query, headers, b"body", 0.0)
    signature = sigv4.read(ours)
    assert signature is not None
    assert signature.scope.endswith("/us-east-1/bedrock/aws4_request")
    assert sigv4.expected(ours, signature, "secret") == signature.signature
    assert sigv4.expected(ours, signature, "other") != signature.signature


def test_frames_are_read_by_botocore():
    reader = pytest.importorskip("botocore.eventstream")
    buffer = reader.EventStreamBuffer()  # checks both checksums
    buffer.add_data(eventstream.event("chunk", {"a": "ü"}) + eventstream.exception("throttlingException", "slow"))
    first, second = list(buffer)
    assert first.headers == {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    assert json.loads(first.payload) == {"a": "ü"}
    assert second.headers[":exception-type"] == "throttlingException"
    assert second.to_response_dict()["status_code"] == 400


# --- Google's


def google(server: FakeProvider, folder: Path) -> Any:
    service_account = pytest.importorskip("google.oauth2.service_account")
    path = server.environment(folder)["GOOGLE_APPLICATION_CREDENTIALS"]
    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    return service_account.Credentials.from_service_account_file(path, scopes=scopes)


def test_google_auth_gets_a_token_that_vertex_takes(tmp_path):
    requests = pytest.importorskip("google.auth.transport.requests")
    with FakeProvider("vertex", [answer(TEXT)]) as server:
        with requests.AuthorizedSession(google(server, tmp_path)) as session:
            found = session.post(server.url + path_of(server), json={"contents": [{"parts": [{"text": "Where?"}]}]})
        assert found.json()["candidates"][0]["content"]["parts"] == [{"text": TEXT}]
        assert [request.kind for request in server.requests] == ["token", "model"]
        assert server.secrets[-1] == server.asked[0].headers["authorization"].removeprefix("Bearer ")
        assert (tmp_path / "service-account.json").stat().st_mode & 0o777 == 0o600


def test_google_auth_with_another_accounts_key_gets_no_token(tmp_path):
    requests = pytest.importorskip("google.auth.transport.requests")
    from google.auth.exceptions import RefreshError

    with FakeProvider("vertex") as server, FakeProvider("vertex") as another:
        credentials = google(another, tmp_path).with_token_uri(f"{server.url}/token")
        with pytest.raises(RefreshError, match="Invalid JWT Signature"):
            credentials.refresh(requests.Request())


def test_another_project_is_forbidden():
    pytest.importorskip("google.auth")
    with FakeProvider("vertex") as server:
        found = ask(server, key=None)
        assert found.status_code == 200
        other = path_of(server).replace("planted-project", "other")
        token = server.secrets[-1]
        found = httpx.post(server.url + other, headers={"authorization": f"Bearer {token}"}, json={})
        assert found.json()["error"]["status"] == "PERMISSION_DENIED"


def test_gemini_takes_its_key_in_the_header_or_in_the_query():
    body = {"contents": [{"parts": [{"text": "Where?"}]}]}
    with FakeProvider("gemini", [answer(TEXT, pieces=2)]) as server:
        url = server.url + path_of(server)
        assert httpx.post(url, params={"key": server.secrets[0]}, json=body).status_code == 200
        assert httpx.post(url, headers={"x-goog-api-key": server.secrets[0]}, json=body).status_code == 200
        assert httpx.post(url, json=body).json()["error"]["status"] == "PERMISSION_DENIED"
        wrong = httpx.post(url, params={"key": "wrong"}, json=body).json()["error"]
        assert (wrong["code"], wrong["details"][0]["reason"]) == (400, "API_KEY_INVALID")


def test_gemini_streams_events_or_an_array():
    body = {"contents": [{"parts": [{"text": "Where?"}]}]}
    with FakeProvider("gemini", [answer(TEXT, pieces=2)]) as server:
        headers = {"x-goog-api-key": server.secrets[0]}
        url = server.url + path_of(server, stream=True).partition("?")[0]
        array = httpx.post(url, headers=headers, json=body).json()
        events = httpx.post(url, params={"alt": "sse"}, headers=headers, json=body).text
        assert [json.loads(event.removeprefix("data: ")) for event in events.strip().split("\r\n\r\n")] == [
            {**chunk, "responseId": "response000000000000002"} for chunk in array
        ]
        assert "".join(chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in array) == TEXT
        assert array[-1]["usageMetadata"]["totalTokenCount"] == 2 + 16


def test_gemini_says_which_quota_and_how_long():
    with FakeProvider("gemini", [rate_limited(34), quota("period"), quota()]) as server:
        minute, day, credit = (ask(server).json()["error"] for _ in range(3))
        kinds = [detail["@type"].rpartition(".")[2] for detail in minute["details"]]
        assert kinds == ["QuotaFailure", "Help", "RetryInfo"]
        assert minute["details"][2]["retryDelay"] == "34s"
        assert "PerMinute" in minute["details"][0]["violations"][0]["quotaId"]
        assert "PerDay" in day["details"][0]["violations"][0]["quotaId"]
        assert {minute["status"], day["status"], credit["status"]} == {"RESOURCE_EXHAUSTED"}


# --- Anthropic's


def test_anthropic_streams_the_documented_events():
    with FakeProvider("anthropic", [answer("abcd", pieces=2)]) as server:
        events = [
            dict(line.split(": ", 1) for line in block.splitlines())
            for block in ask(server, stream=True).text.strip().split("\n\n")
        ]
    names = [event["event"] for event in events]
    assert names == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    data = [json.loads(event["data"]) for event in events]
    assert [each["type"] for each in data] == names
    assert data[0]["message"]["usage"]["input_tokens"] == 1
    assert [each["delta"]["text"] for each in data[3:5]] == ["ab", "cd"]
    assert data[6] == {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"messages": [{"role": "system", "content": "x"}]}, 'Unexpected role "system"'),
        ({"messages": [{"role": "user", "content": " "}]}, "non-whitespace"),
        ({"temperature": 0}, "`temperature` is deprecated for this model."),
        ({"temperature": 0, "model": "claude-sonnet-4-6"}, None),
    ],
)
def test_anthropic_refuses_what_the_api_refuses(change, words):
    body = {
        "model": "claude-sonnet-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Where?"}],
        **change,
    }
    body = {name: value for name, value in body.items() if value is not None}
    with FakeProvider("anthropic") as server:
        headers = {"x-api-key": server.secrets[0], "anthropic-version": "2023-06-01"}
        found = httpx.post(f"{server.url}/v1/messages", headers=headers, json=body)
        assert found.status_code == (400 if words else 200)
        assert words is None or words in found.json()["error"]["message"]
        del headers["anthropic-version"]
        assert httpx.post(f"{server.url}/v1/messages", headers=headers, json=body).status_code == 400


def test_anthropic_tells_a_used_up_month_from_a_used_up_minute():
    with FakeProvider("anthropic", [rate_limited(9), quota("period")]) as server:
        minute, month = ask(server), ask(server)
        assert minute.status_code == month.status_code == 429
        assert (minute.headers["retry-after"], "retry-after" in month.headers) == ("9", False)
        assert month.json()["error"]["details"] == {"error_code": "enforced_spend_limit_reached"}
