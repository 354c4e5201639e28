"""What time it is at the endpoint, by the `Date` that every HTTP answer carries (RFC 9110, 6.6.1)."""

import contextlib
import email.utils
import http.client
import urllib.error
import urllib.request
from typing import Final

from adapters.claude.clients import is_here

DEFAULT: Final = "https://api.anthropic.com"


def served_at(base_url: str, *, timeout_s: float) -> float | None:
    """Seconds since 1970 at the endpoint, or None where it does not say so in time."""
    if base_url and not base_url.startswith(("http://", "https://")):
        return None
    asked = urllib.request.Request(base_url or DEFAULT, method="HEAD")  # noqa: S310 - looked at above
    with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
        try:
            with _opener(base_url).open(asked, timeout=timeout_s) as answer:
                said = answer.headers.get("date")
        except urllib.error.HTTPError as refusal:
            said = refusal.headers.get("date")
        date = email.utils.parsedate_tz(said or "")
        return None if date is None else float(email.utils.mktime_tz(date))
    return None


def _opener(base_url: str) -> urllib.request.OpenerDirector:
    """By the environment's proxy, which does not lead to this machine itself."""
    if is_here(base_url):
        return urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener()
