"""
Holds, as other commands ask for them: by way of the process that owns the state folder, or, where
none does, on the database itself.

Rule: a hold counts from its transaction on. Whoever works in this process is told of it at once,
another process looks every second.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final, Literal, cast

from adapters.clock import WallClock
from adapters.store.open import Store, open_store
from bot.errors import BadInput
from bot.ports.chat import Speaker
from bot.ports.holds import ALL, RESTORE, Hold, Holds
from bot.ports.mail import Rooms
from bot.ports.secrets import Sealing
from bot.settings import Settings
from bot.wiring.caps import guard_of
from bot.wiring.folder import owned, prepare_folder
from bot.wiring.upkeep import keep_before
from scheduler.control import Request

log = logging.getLogger(__name__)

KINDS: Final = ("room", "person")


async def _nobody() -> None:
    pass


class HoldDesk:
    """Sets and releases holds, for a command line that may be in another process."""

    def __init__(
        self,
        holds: Holds,
        rooms: Rooms,
        recall: Callable[[], Awaitable[None]] = _nobody,
        posted: Callable[[], None] = lambda: None,
    ) -> None:
        """`recall`: whoever works here looks again at what may go on. `posted`: statuses changed."""
        self._holds, self._rooms = holds, rooms
        self._recall, self._posted = recall, posted

    async def __call__(self, request: Request) -> dict[str, Any] | None:
        """The answer to a request about holds; None for any other.

        Raises:
            BadInput: there is no such room, person or hold, or more than one.
        """
        match request:
            case {"do": "holds"}:
                return {"holds": [as_row(hold) for hold in await self._holds.standing()]}
            case {"do": "hold", "kind": str(kind), "name": str(name), "by": str(by)}:
                scope = await self._scope(kind, name)
                person = await self._rooms.person("console", Speaker(by, by))
                hold, is_new = await self._holds.hold(scope, person, str(request.get("why", "")))
                await self._changed()
                return {"hold": as_row(hold), "is_new": is_new}
            case {"do": "release", "kind": str(kind), "name": str(name)}:
                return await self._release(kind, name)
            case _:
                return None

    async def _changed(self) -> None:
        await self._recall()
        self._posted()

    async def _release(self, kind: str, name: str) -> dict[str, Any]:
        standing = await self._holds.standing()
        released = []
        for scope in await self._to_release(kind, name, standing):
            stood = await self._holds.release(scope)
            released += [] if stood is None else [as_row(stood)]
        await self._changed()
        return {
            "released": released,
            "holds": [as_row(hold) for hold in await self._holds.standing()],
        }

    async def _to_release(self, kind: str, name: str, standing: Sequence[Hold]) -> tuple[str, ...]:
        there = [hold.scope for hold in standing]
        if kind in KINDS:
            return (await self._scope(kind, name),)
        if kind == ALL:
            return tuple(scope for scope in (RESTORE, ALL) if scope in there)
        if RESTORE in there:
            return (RESTORE,)
        if len(there) > 1:
            raise BadInput(
                "More than one hold stands. Say which: --all, --room ROOM or --person PERSON; "
                "`headway hold` lists them."
            )
        return tuple(there)

    async def _scope(self, kind: str, name: str) -> str:
        if kind not in KINDS:
            return ALL
        found = await self._holds.named(cast(Literal["room", "person"], kind), name)
        if not found:
            raise BadInput(
                f"There is no {kind} {name!r} that Headway has ever heard from. Check its spelling."
            )
        if len(found) > 1:
            names = ", ".join(sorted({hold.name for hold in found}))
            raise BadInput(
                f"More than one {kind} is called {name!r} ({names}). Put its network in front: "
                f"`{found[0].name}`."
            )
        return found[0].scope


@asynccontextmanager
async def own_store(settings: Settings, sealing: Sealing | None = None) -> AsyncIterator[Store]:
    """The store of a state folder that nobody else owns, for the life of the context.

    Args:
        sealing: has the keys of its secrets; without it none is opened.

    Raises:
        AlreadyOwned: somebody does: ask them.
        StoreBusy, StoreUnusable.
    """
    prepare_folder(settings)
    async with AsyncExitStack() as stack:
        stack.enter_context(owned(settings.state_dir))
        yield await stack.enter_async_context(
            open_store(
                settings.database_url,
                clock=WallClock(),
                limits=settings.limits,
                state_dir=settings.state_dir,
                sealing=sealing,
                guard=guard_of(settings),
                before=partial(keep_before, settings),
            )
        )


async def tell_holds(holds: Holds) -> None:
    """Say in the log what is on hold: whoever looks why nothing happens finds it there."""
    for hold in await holds.standing():
        what = "Everything is" if hold.scope in (ALL, RESTORE) else f"{hold.name or hold.scope} is"
        why = f" ({hold.why})" if hold.why else ""
        log.warning("%s on hold%s: `headway release` lets it go on.", what, why)


def as_row(hold: Hold) -> dict[str, Any]:
    """A hold as JSON: `scope` is `all`, `restore`, `room` or `person`."""
    return {
        "scope": hold.scope.partition(":")[0],
        "of": hold.name,
        "by": hold.by_name,
        "at": hold.at,
        "why": hold.why,
    }
