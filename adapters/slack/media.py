"""
Files that people give in Slack.

Rule 1: the token goes to Slack's own hosts alone; wherever else Slack, or a message, points, nobody goes.
Rule 2: what a message says of its file is checked: the bytes are counted as they come, and what is not
        of the size that was told, or is the page of a log-in, is not the file.
Rule 3: a file goes through piece by piece and is never held whole.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

import aiohttp

from adapters.slack.calling import Calls, Json, proxy_for
from adapters.slack.errors import refusal, translated
from adapters.slack.payloads import fields, opaque, text_of
from bot.errors import BadInput, Refused, Wait
from bot.ports.attached import ANY_TYPE, safe_name, safe_type, size_of
from bot.ports.chat import Attachment
from bot.ports.files import Files

PIECE_BYTES: Final = 256 * 1024
CONNECT_S: Final = 30.0
SILENT_S: Final = 60.0
"""A download of which nothing came for so long is tried again."""
LEAST_RATE: Final = 50_000
"""Bytes a second. What is slower is given up, and tried again."""
SLACKS_OWN: Final = ("slack.com", "slack-gov.com")
"""Domains on which Slack gives files to who shows a token."""
HOPS_MOST: Final = 3
"""Places to which Slack sends us on, each of them its own."""
NO_FILE: Final = "no_file"
"""Code of what comes with a message and cannot be fetched."""
LOG_IN: Final = (
    "Slack asks for a log-in in its place. Does the app have the scope files:read, and is the bot in "
    "the channel?"
)
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_DOCUMENTS: Final = ("application/vnd.slack", "application/vnd.quip")
_ELSEWHERE: Final = frozenset({"external", "remote"})


@dataclass(frozen=True, slots=True)
class Described:
    """What a message says of its file. `size` is None where it does not say."""

    id: str
    name: str
    media_type: str
    size: int | None
    url: str
    trouble: str = ""
    """Why there is no file to fetch."""
    is_untold: bool = False
    """Slack tells more when it is asked (`files.info`)."""


class Media:
    """Fetches the files of an app's workspaces, and keeps them."""

    def __init__(self, calls: Calls, files: Files) -> None:
        self._calls, self._files = calls, files

    async def fetch(self, workspace: str, file: Json) -> Attachment:
        """Fetch a file of a message, and keep it.

        Args:
            file: as it stands in the message.

        Raises:
            BadInput: it is too large, or not what was told; the message says which.
            Refused: there is no file, or Slack does not give it.
            Wait: Slack is out of reach.
            ByOperator: the app may read no files.
            StoreUnusable: it cannot be kept.
        """
        told = described(file)
        if told.is_untold:
            answer = await self._calls.call(
                workspace, "files.info", what=f"{told.name} cannot be looked at", file=told.id
            )
            told = described(fields(answer.get("file")))
        self._refuse(told)
        token = await self._calls.token_for(workspace)
        try:
            async with asyncio.timeout(SILENT_S + self._files.most / LEAST_RATE):
                async with self._download(told, token) as pieces:
                    kept = await self._files.keep(pieces)
        except TimeoutError as error:
            raise Wait(f"{told.name} comes too slowly. It is tried again.") from error
        return Attachment(told.name, told.media_type, kept.size, kept.hash)

    def _refuse(self, told: Described) -> None:
        """Raise why it is not even begun, where it is not."""
        if told.trouble:
            raise Refused(told.trouble, code=NO_FILE)
        if told.is_untold or not told.url:
            raise Refused("Slack names no file to fetch.", code=NO_FILE)
        if not is_slacks(told.url, self._calls.api_url):
            raise Refused("It does not lie with Slack. Give it as a file.", code=NO_FILE)
        if told.size is not None and told.size > self._files.most:
            raise BadInput(
                f"It has {size_of(told.size)}, and a file may have {size_of(self._files.most)} here."
            )

    @asynccontextmanager
    async def _download(self, told: Described, token: str) -> AsyncIterator[AsyncIterator[bytes]]:
        what, url = f"{told.name} cannot be fetched", told.url
        for _ in range(HOPS_MOST):
            answer = await self._get(url, token, what)
            try:
                further = answer.headers.get("Location", "") if _is_moved(answer) else ""
                if not further:
                    _refuse_no_file(answer, told, what)
                    yield _pieces(answer, told, what)
                    return
            finally:
                answer.close()
            url = _onwards(url, further)
            if not is_slacks(url, self._calls.api_url):
                break
        raise Refused(LOG_IN, code=NO_FILE)

    async def _get(self, url: str, token: str, what: str) -> aiohttp.ClientResponse:
        limits = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENT_S)
        with translated(what):
            return await self._calls.session.get(
                url,
                headers={"Authorization": f"Bearer {token}"},
                allow_redirects=False,
                timeout=limits,
                proxy=proxy_for(url),
            )


def described(file: Json) -> Described:
    """What a message, or Slack when asked, says of a file."""
    name = safe_name(text_of(file.get("name")) or text_of(file.get("title")))
    size = file.get("size")
    is_size = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    url = text_of(file.get("url_private_download")) or text_of(file.get("url_private"))
    id = opaque(file.get("id"))
    access = text_of(file.get("file_access"))
    trouble = _trouble(file, access)
    return Described(
        id,
        name,
        safe_type(text_of(file.get("mimetype")), name),
        size if is_size and isinstance(size, int) else None,
        url,
        trouble,
        is_untold=not trouble and bool(id) and (access == "check_file_info" or not url),
    )


def is_slacks(url: str, api_url: str) -> bool:
    """Whether a URL is one of Slack's own: where the API is, or on one of Slack's domains."""
    try:
        parts, api = urlsplit(url), urlsplit(api_url)
        place = (parts.scheme, parts.hostname, parts.port)
        home = (api.scheme, api.hostname, api.port)
    except ValueError:
        return False
    if not url.isprintable() or "@" in parts.netloc or "\\" in url:
        return False
    if place == home:
        return True
    host = parts.hostname or ""
    is_own = any(host == one or host.endswith(f".{one}") for one in SLACKS_OWN)
    return parts.scheme == "https" and parts.port in (None, 443) and is_own


def _trouble(file: Json, access: str) -> str:
    """Why there is nothing to fetch, in a sentence; empty where there is."""
    mode = text_of(file.get("mode"))
    if mode == "tombstone" or access == "file_not_found":
        return "It was deleted."
    if mode == "hidden_by_limit":
        return "The workspace's plan does not show it any more."
    if access == "access_denied":
        return "The bot may not read it. Share it in this channel."
    if file.get("is_external") is True or mode in _ELSEWHERE:
        kind = text_of(file.get("external_type")).strip()
        return f"It lies elsewhere{f' ({kind[:30]})' if kind else ''}. Give it as a file."
    if text_of(file.get("mimetype")).startswith(_DOCUMENTS):
        return "It is a document of Slack's own. Give it as a file."
    return ""


def _onwards(url: str, further: str) -> str:
    try:
        return urljoin(url, further)
    except ValueError:
        return ""


def _is_moved(answer: aiohttp.ClientResponse) -> bool:
    return answer.status in (301, 302, 303, 307, 308)


def _refuse_no_file(answer: aiohttp.ClientResponse, told: Described, what: str) -> None:
    """Raise what the answer says in place of a file, where it does."""
    status = answer.status
    if 300 <= status < 400 or status in (401, 403):
        raise Refused(LOG_IN, code=NO_FILE)
    if status in (404, 410):
        raise Refused("It is not there any more.", code=NO_FILE)
    if status != 200:
        error = refusal(what, answer)
        # Nothing is done by asking for a file.
        raise (
            Wait(str(error), retry_after_s=error.retry_after_s)
            if isinstance(error, Wait)
            else error
        )
    if answer.content_type in _PAGES and told.media_type not in _PAGES:
        raise Refused(LOG_IN, code=NO_FILE)


async def _pieces(
    answer: aiohttp.ClientResponse, told: Described, what: str
) -> AsyncIterator[bytes]:
    announced = answer.content_length if "Content-Encoding" not in answer.headers else None
    come = 0
    stream = answer.content.iter_chunked(PIECE_BYTES)
    while True:
        with translated(what):
            piece = await anext(stream, b"")
        if not piece:
            break
        if not come and _looks_like_a_page(piece, told):
            raise Refused(LOG_IN, code=NO_FILE)
        come += len(piece)
        yield piece
    if announced is not None and come != announced:
        raise Wait(f"{what}: it was cut off. It is tried again.")
    if told.size is not None and come != told.size:
        raise BadInput(
            f"It is not what was given: it has {size_of(come)} in place of {size_of(told.size)}."
        )


def _looks_like_a_page(piece: bytes, told: Described) -> bool:
    """A page that wants a log-in first, whatever type it says it has."""
    if told.media_type in _PAGES or told.media_type == "image/svg+xml":
        return False
    begins = piece[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    is_text = told.media_type.startswith("text/") or told.media_type == ANY_TYPE
    return not is_text and begins.startswith((b"<!doctype html", b"<html"))
