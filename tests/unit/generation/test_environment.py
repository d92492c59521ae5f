from __future__ import annotations

import copy
import json
import pickle
from dataclasses import asdict, dataclass

import pytest

from generation.errors import RequestError
from generation.router.environment import Environment, is_secret, read_environment

VALUE = "a value that nobody may see 4711"


@pytest.fixture
def folders(tmp_path):
    """The current folder and the project's, both without `.env`."""
    here, root = tmp_path / "here", tmp_path / "root"
    here.mkdir()
    root.mkdir()
    return here, root


def test_the_process_comes_before_the_file_also_where_it_sets_nothing(folders):
    here, root = folders
    (here / ".env").write_text("A=file\nB=file\nC=file\n")
    environment = read_environment(here, {"A": "process", "B": ""}, root)
    assert dict(environment) == {"A": "process", "B": "", "C": "file"}
    assert (environment.origin("A"), environment.origin("C")) == ("environment", str(here / ".env"))
    assert (environment.setting("B", "C"), environment.setting("B"), environment.setting("Z")) == ("file", "", "")


def test_the_current_folder_comes_before_the_project(folders):
    here, root = folders
    (root / ".env").write_text("A=root\nB=root\n")
    assert read_environment(here, {}, root)["A"] == "root"
    (here / ".env").write_text("A=here\n")
    assert dict(read_environment(here, {}, root)) == {"A": "here"}


def test_no_file_or_a_folder_of_that_name_is_an_empty_file(folders):
    here, root = folders
    (here / ".env").mkdir()  # a virtual environment may be called so
    assert dict(read_environment(here, {"A": "1"}, root)) == {"A": "1"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("K=plain # comment", "plain"),
        ("export K=plain", "plain"),
        ("K='single $x'", "single $x"),
        ('K="two\\nlines"', "two\nlines"),
        ('K="really\ntwo"', "really\ntwo"),
        ("K=a$HOME${HOME}b", "a$HOME${HOME}b"),  # keys may hold a dollar sign
        ("K = spaced ", "spaced"),
        ("K=", ""),
        ("\ufeffK=bom", "bom"),
        ("K=a=b==", "a=b=="),
        ("K=old\r\nK=new\r\n", "new"),
    ],
)
def test_values_are_read_as_dotenv_files_are_written(folders, text, value):
    here, root = folders
    (here / ".env").write_text(text, newline="")
    assert dict(read_environment(here, {"HOME": "x"}, root)) == {"HOME": "x", "K": value}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"A=1\n\n# note\n{VALUE}\n", 4),
        (f"A=1\nB='{VALUE}\nC=2\n", 2),
        (f"A=1\n\n\n{VALUE.replace(' ', '')}\n", 4),
        (f"\r\n\r\n{VALUE.replace(' ', '-')}=x\r\n", 3),
    ],
)
def test_a_broken_line_is_named_by_its_number_and_never_shown(folders, text, line):
    here, root = folders
    (here / ".env").write_text(text, newline="")
    with pytest.raises(RequestError) as caught:
        read_environment(here, {}, root)
    assert f"{here / '.env'}, line {line}:" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("nobody", "4711"))


def test_a_file_that_is_no_text_is_an_error_that_does_not_hold_its_bytes(folders):
    here, root = folders
    (here / ".env").write_bytes(b"K=" + VALUE.encode() + b"\xff\n")
    with pytest.raises(RequestError, match="is not UTF-8") as caught:
        read_environment(here, {}, root)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_nothing_shows_a_value():
    @dataclass(frozen=True)
    class Holder:
        environment: Environment

    environment = Environment({"K": VALUE})
    holder = Holder(environment)
    shown = [
        repr(environment),
        str(environment),
        f"{environment}",
        f"{holder}",
        repr(asdict(holder)),
    ]
    assert not any("nobody" in text for text in shown)
    assert shown[0] == "Environment(1 variables)"
    with pytest.raises(TypeError, match="neither pickled nor sent"):
        pickle.dumps(environment)
    with pytest.raises(TypeError):
        json.dumps(environment)
    with pytest.raises(TypeError):
        vars(environment)  # __slots__: no dict for a debugger to print
    assert copy.deepcopy(environment) is environment
    with pytest.raises(KeyError) as caught:
        environment["MISSING"]
    assert "nobody" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ANTHROPIC_API_KEY", True), ("AWS_ACCESS_KEY_ID", True), ("aws_session_token", True), ("DB_PASSWORD", True),
        ("my-api-key", True), ("HF_TOKEN", True), ("GOOGLE_APPLICATION_CREDENTIALS", True), ("PATH", False),
        ("TOKENIZERS_PARALLELISM", False), ("KEYBOARD", False), ("ANTHROPIC_DIRECT_INPUT_TPM", False),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", False), ("SSH_PUBLIC_KEY", False), ("MONKEY", False),
    ],
)  # fmt: skip
def test_names_that_speak_of_a_secret(name, secret):
    assert is_secret(name) is secret


def test_what_the_redactor_is_given():
    account = json.dumps({"type": "service_account", "private_key": "BODY", "inner": [{"client_secret": "DEEP"}]})
    environment = Environment(
        {
            "PATH": "/bin",
            "X_API_KEY": "one",
            "EMPTY_KEY": " ",
            "GOOGLE_APPLICATION_CREDENTIALS": "/home/me/account.json",
            "VERTEX": account,
            "HTTPS_PROXY": "http://me:p%40ss@proxy:3128",
            "OPENAI_BASE_URL": "http://localhost:11434/v1",
            "DB_CREDENTIALS": "me:secret",
            "BAD_URL": "http://[::1@",
        }
    )
    assert environment.secrets() == {
        "DB_CREDENTIALS": "me:secret",
        "HTTPS_PROXY": "p%40ss",
        "HTTPS_PROXY#1": "p@ss",
        "VERTEX": "BODY",
        "VERTEX#1": "DEEP",
        "X_API_KEY": "one",
    }
