"""
What came in one room, in order: its gap first, then its timeline; without what was there before us.

Rule: what was said before we joined is history. Our own memberships in the room say when we were in it.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from adapters.matrix.gaps import Fetch, Gap, look_back
from adapters.matrix.parse import Json, is_own_membership, membership
from adapters.matrix.reading import events_of

JOINED: Final = "join"


async def heard(
    info: Json, user: str, fetch: Callable[[], Fetch], *, since: str | None
) -> AsyncIterator[Json]:
    """The events of a room that count, oldest first; our own memberships are always among them.

    Args:
        info: the room's part of an answer to /sync.
        user: who we are.
        fetch: makes what asks for the room's history.
        since: where we had read to; None: nowhere, and there is no gap.

    Raises whatever `fetch` does.
    """
    timeline = [one for one in events_of(info, "timeline") if isinstance(one, dict)]
    gap = await _gap(info, user, fetch) if since else None
    is_in = _was_in(gap, timeline, user)
    known = {one.get("event_id") for one in timeline}
    if gap is not None:
        async for event in gap.events():
            is_own = is_own_membership(event, user)
            if (is_in or is_own) and event.get("event_id") not in known:
                yield event
            is_in = membership(event)[1] == JOINED if is_own else is_in
    for event in timeline:
        is_own = is_own_membership(event, user)
        if is_in or is_own:
            yield event
        is_in = membership(event)[1] == JOINED if is_own else is_in


def has_just_joined(info: Json, user: str) -> bool:
    """Whether we came into the room with this answer."""
    events = [*events_of(info, "state"), *events_of(info, "timeline")]
    own = [one for one in events if isinstance(one, dict) and is_own_membership(one, user)]
    return any(membership(one)[0] != JOINED and membership(one)[1] == JOINED for one in own)


async def _gap(info: Json, user: str, fetch: Callable[[], Fetch]) -> Gap | None:
    timeline = info.get("timeline")
    if not isinstance(timeline, dict) or timeline.get("limited") is not True:
        return None
    start = timeline.get("prev_batch")
    if not isinstance(start, str) or not start:
        return None
    return await look_back(fetch(), start, user)


def _was_in(gap: Gap | None, timeline: Sequence[Json], user: str) -> bool:
    if gap is not None and gap.before is not None:
        return gap.before == JOINED
    own = (one for one in timeline if is_own_membership(one, user))
    first = next(own, None)
    return first is None or membership(first)[0] == JOINED
