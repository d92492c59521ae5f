"""Google's OAuth token endpoint for service accounts (RFC 7523), and the key file that leads there."""

from __future__ import annotations

import base64
import json
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np

from tests.providers import keys
from tests.providers.exchange import Request, Response, as_json

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
EMAIL = "planted@planted-project.iam.gserviceaccount.com"
LIFETIME = 3600


@dataclass
class TokenServer:
    """Gives a token for every assertion that the planted account's key has signed; `given` are the valid ones."""

    url: str
    project: str
    generator: np.random.Generator
    given: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def key(self) -> Any:
        """The account's RSA key, made anew for every server."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        return rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def private_key(self) -> str:
        """The key as a file has it."""
        from cryptography.hazmat.primitives import serialization

        form = serialization.PrivateFormat.PKCS8
        return str(self.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode())

    def credentials(self) -> dict[str, str]:
        """The content of a service account's key file whose `token_uri` is this server's."""
        return {
            "type": "service_account",
            "project_id": self.project,
            "private_key_id": "0" * 40,
            "private_key": self.private_key,
            "client_email": EMAIL,
            "client_id": "100000000000000000000",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": f"{self.url}/token",
            "universe_domain": "googleapis.com",
        }

    def write_credentials(self, folder: Path) -> Path:
        """The key file in `folder`, readable by its owner only."""
        path = folder / "service-account.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(self.credentials()))
        return path

    def answer(self, request: Request) -> Response:
        """A new token, or why there is none."""
        form = parse_qs(request.body.decode())
        if form.get("grant_type") != [GRANT]:
            return refused("unsupported_grant_type", "Invalid grant_type")
        fault = self.fault(form.get("assertion", [""])[0])
        if fault:
            return refused("invalid_grant", fault)
        with self.lock:
            token = keys.google_token(self.generator)
            self.given.append(token)
        return Response(200, as_json({"access_token": token, "expires_in": LIFETIME - 1, "token_type": "Bearer"}))

    def fault(self, assertion: str) -> str:
        """What is wrong with an assertion, empty where nothing."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        signed, _, signature = assertion.rpartition(".")
        if signed.count(".") != 1:
            return "Invalid JWT: must be three parts"
        try:
            self.key.public_key().verify(decoded(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return "Invalid JWT Signature."
        claims = json.loads(decoded(signed.partition(".")[2]))
        if claims["iss"] != EMAIL:
            return "Invalid grant: account not found"
        if claims["aud"] not in (f"{self.url}/token", "https://oauth2.googleapis.com/token"):
            return "Invalid JWT: Failed audience check."
        if SCOPE not in claims.get("scope", "").split():
            return "Invalid OAuth scope or ID token audience provided."
        return "" if claims["exp"] > time.time() else "Invalid JWT: Token must be a short-lived token."

    def secrets(self) -> tuple[str, ...]:
        """The private key's lines and all tokens given so far."""
        lines = [line for line in self.private_key.splitlines() if not line.startswith("-----")]
        return (*lines, *self.given)


def refused(kind: str, text: str) -> Response:
    """An error as OAuth has it (RFC 6749, 5.2)."""
    return Response(400, as_json({"error": kind, "error_description": text}))


def decoded(part: str) -> bytes:
    """A part of a JWT: base64url without padding."""
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
