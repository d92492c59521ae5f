"""Checks a request's AWS Signature Version 4, worked out from the request as it arrived.

Source: AWS, "Create a signed AWS API request" (canonical request, string to sign, signing key).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from urllib.parse import quote

from tests.providers.exchange import Request

ALGORITHM = "AWS4-HMAC-SHA256"
FORM = re.compile(
    ALGORITHM + r" Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, ?"
    r"SignedHeaders=(?P<headers>[^,]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)


@dataclass(frozen=True)
class Signature:
    """What an `Authorization` header says."""

    key: str
    day: str
    region: str
    service: str
    headers: tuple[str, ...]
    signature: str

    @property
    def scope(self) -> str:
        """The credential scope."""
        return f"{self.day}/{self.region}/{self.service}/aws4_request"


def read(request: Request) -> Signature | None:
    """The signature of a request; None where it has none of this form."""
    found = FORM.fullmatch(request.headers.get("authorization", ""))
    if not found:
        return None
    key, day, region, service, headers, made = found.groups()
    return Signature(key, day, region, service, tuple(headers.split(";")), made)


def expected(request: Request, signature: Signature, secret: str) -> str:
    """The signature that the owner of `secret` would have made."""
    stamp = request.headers.get("x-amz-date", "")
    digest = hashlib.sha256(canonical(request, signature).encode()).hexdigest()
    text = "\n".join((ALGORITHM, stamp, signature.scope, digest))
    key = f"AWS4{secret}".encode()
    for part in signature.scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def canonical(request: Request, signature: Signature) -> str:
    """The canonical request; the path as it was sent is encoded once more, as every service but S3 has it."""
    path, _, _ = request.target.partition("?")
    query = "&".join(f"{quote(name, '-_.~')}={quote(value, '-_.~')}" for name, value in sorted(request.query.items()))
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in signature.headers)
    signed = ";".join(signature.headers)
    payload = hashlib.sha256(request.body).hexdigest()
    return "\n".join((request.method, quote(path, "/-_.~"), query, headers, signed, payload))
