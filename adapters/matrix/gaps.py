"""
What was said in a room while nobody listened, and did not fit into the answer to /sync.

Rule 1: from where the answer's timeline begins back to where we had read to; nothing lost, nothing
        doubled with the timeline, oldest first.
Rule 2: memory is bounded: the pages are walked once for where they begin, then asked for again from
        the oldest on. The few oldest are kept in between.
"""

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

import nio

from adapters.matrix import wire
from adapters.matrix.parse import is_own_membership, membership

log = logging.getLogger(__name__)

PAGE: Final = 100
"""Events a page: 6.5 MB at most, each event having at most 64 KiB."""
KEPT: Final = 4
PAGES_MOST: Final = 5_000
"""Half a million events: beyond it a server gives us a room's whole history."""
EMPTY_MOST: Final = 3
"""Pages without an event one after the other, after which there is nothing more."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a room's history, newest event first; `before` is where it goes on, or empty."""

    events: tuple[Json, ...]
    before: str = ""


Fetch = Callable[[str], Awaitable[Page]]


@dataclass(slots=True)
class Gap:
    """A gap whose extent is known."""

    fetch: Fetch
    starts: list[str] = field(default_factory=list)
    """Where each page begins, the newest first."""
    kept: OrderedDict[str, Page] = field(default_factory=OrderedDict)
    before: str | None = None
    """Our membership before the oldest event that changes it; None where there is none."""

    async def events(self) -> AsyncIterator[Json]:
        """Everything in it, oldest first."""
        for start in reversed(self.starts):
            page = self.kept.pop(start, None) or await self.fetch(start)
            for event in reversed(page.events):
                yield event


async def look_back(fetch: Fetch, start: str, user: str) -> Gap:
    """Find out how far a gap goes that ends at `start`; `user` is whose memberships are noted.

    Raises whatever `fetch` does.
    """
    gap, at, empty = Gap(fetch), start, 0
    known: set[str] = set()
    while at and at not in known and empty < EMPTY_MOST:
        if len(gap.starts) >= PAGES_MOST:
            log.warning(
                "A gap in a room has more than %s pages: the oldest are left out", PAGES_MOST
            )
            break
        known.add(at)
        page = await fetch(at)
        empty = 0 if page.events else empty + 1
        if page.events:
            gap.starts.append(at)
            gap.kept[at] = page
            while len(gap.kept) > KEPT:
                gap.kept.popitem(last=False)
        for event in page.events:
            if is_own_membership(event, user):
                gap.before = membership(event)[0]
        at = page.before
    return gap


async def page_of(client: nio.AsyncClient, room: str, start: str, until: str) -> Page:
    """A page of a room's history from `start` backwards, as far as `until`.

    Raises:
        Wait, LoggedOut: as `errors.unwrap`; Refused, where we cannot read there.
    """
    query = urlencode({"dir": "b", "from": start, "to": until, "limit": PAGE})
    path = f"/rooms/{quote(room, safe='')}/messages?{query}"
    answer = await wire.call(client, "GET", path, what=f"What was said in {room} cannot be read")
    chunk, end = answer.body.get("chunk"), answer.body.get("end")
    events = tuple(one for one in chunk if isinstance(one, dict)) if isinstance(chunk, list) else ()
    return Page(events, end if isinstance(end, str) else "")
