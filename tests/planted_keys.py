"""Keys as vendors shape them, from a seeded generator, and the text in which a server or a log shows each of them.

No key stands in this file: the marks are put together from pieces.
"""

from __future__ import annotations

import base64
import json
import string
from dataclasses import dataclass

import numpy as np

WORD = string.ascii_letters + string.digits
SAFE = WORD + "-_"
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
BASE64 = WORD + "+/"


@dataclass(frozen=True)
class Planted:
    """A key, the variable that would hold it, and a line that shows it where nobody knows its value."""

    shape: str
    variable: str
    value: str
    line: str

    @property
    def secret(self) -> str:
        """The part of the value that is secret: of a service account its private key."""
        return str(json.loads(self.value)["private_key"]) if self.value.startswith("{") else self.value

    @property
    def pieces(self) -> list[str]:
        """What may not be found anywhere: the key's parts of 16 characters, without its public beginning and end."""
        lines = [line for line in self.secret.splitlines() if not line.startswith("-----")]
        body = [line[14:-3] if len(line) >= 48 else line[5:] for line in lines if len(line) >= 20]
        return [text[at : at + 16] for text in body for at in range(0, max(1, len(text) - 15), 8)]


def planted(seed: int) -> tuple[Planted, ...]:
    """One key of every shape."""
    rng = np.random.default_rng(seed)

    def draw(count: int, alphabet: str = WORD) -> str:
        return "".join(alphabet[at] for at in rng.integers(len(alphabet), size=count))

    def segment(content: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")

    anthropic = "-".join(("sk", "ant", "api03", draw(93, SAFE) + "AA"))
    openai = "-".join(("sk", draw(20) + "".join(("T3", "Blbk", "FJ")) + draw(20)))
    project = "-".join(("sk", "proj", draw(74, SAFE) + "".join(("T3", "Blbk", "FJ")) + draw(74, SAFE)))
    azure, azure_long = draw(32, HEX), draw(52) + "JQ" + "QJ99" + draw(26)
    key_id, secret = "AK" + "IA" + draw(16, BASE32), draw(40, BASE64)
    session = "IQoJb3" + "JpZ2lu" + draw(400, BASE64)
    google, access = "AI" + "za" + draw(35, SAFE), ".".join(("ya" + "29", "c", draw(120, SAFE)))
    frame = [f"-----{word} PRIVATE {'KEY'}-----" for word in ("BEGIN", "END")]
    pem = "\n".join((frame[0], *(draw(64, BASE64) for _ in range(24)), draw(20, BASE64) + "==", frame[1], ""))
    bearer, hub, generic = draw(43, SAFE), "h" + "f_" + draw(34), draw(8) + "7" + draw(24)
    jwt = ".".join((segment({"alg": "HS256", "typ": "JWT"}), segment({"sub": draw(12), "exp": 1}), draw(43, SAFE)))
    account = json.dumps({"type": "service_account", "private_key": pem, "client_email": "a@b.example"})
    return (
        Planted("anthropic", "ANTHROPIC_API_KEY", anthropic, f"invalid x-api-key {anthropic}"),
        Planted("openai", "OPENAI_API_KEY", openai, f"Incorrect API key provided: {openai}. You can find yours"),
        Planted("openai project", "OPENAI_PROJECT_KEY", project, f'{{"error": "key {project} is revoked"}}'),
        Planted("azure", "AZURE_OPENAI_API_KEY", azure, f"headers: {{'api-key': '{azure}', 'accept': '*/*'}}"),
        Planted("azure long", "AZURE_OTHER_KEY", azure_long, f"denied: {azure_long}"),
        Planted("aws key id", "AWS_ACCESS_KEY_ID", key_id, f"Credential={key_id}/20260101/us-east-1/bedrock"),
        Planted("aws secret", "AWS_SECRET_ACCESS_KEY", secret, f'"aws_secret_access_key": "{secret}"'),
        Planted("aws session", "AWS_SESSION_TOKEN", session, f"X-Amz-Security-Token: {session}"),
        Planted(
            "google", "GEMINI_API_KEY", google, f"POST https://x.example/v1beta/models/m:ask?key={google}&alt=sse"
        ),
        Planted("google access", "GOOGLE_ACCESS_TOKEN", access, f"token {access} has expired"),
        Planted("private key", "GOOGLE_CREDENTIALS", account, f"could not read {account}"),
        Planted("bearer", "AWS_BEARER_TOKEN_BEDROCK", bearer, f"Authorization: Bearer {bearer}"),
        Planted("huggingface", "HF_TOKEN", hub, f"hub says: {hub} may not read this"),
        Planted("generic", "COMPATIBLE_API_KEY", generic, f"called with api_key='{generic}'"),
        Planted("jwt", "SERVICE_TOKEN", jwt, f"claims of {jwt} are wrong"),
    )
