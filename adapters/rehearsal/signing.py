"""Signatures over thinking and compaction blocks: pure.

The real API signs what the model thought and refuses it when it comes back altered. The key is
fixed and no secret: a transcript stays valid over restarts of the server.
"""

import base64
import hashlib
import hmac

_KEY = b"the rehearsed model signs its thinking"


def sign(kind: str, words: str) -> str:
    """The signature of a block's text, as base64."""
    digest = hmac.new(_KEY, f"{kind}\n{words}".encode(), hashlib.sha256).digest()
    return base64.b64encode(b"rehearsed" + digest).decode("ascii")


def is_signed(kind: str, words: str, signature: object) -> bool:
    """Whether `signature` was made by `sign` for exactly this text."""
    return isinstance(signature, str) and hmac.compare_digest(signature, sign(kind, words))
