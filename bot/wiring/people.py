"""
The people of a process: its allow-list, what happens when an owner is lost, and requests about them.

Rule: on the console the system's user is an admin by nature: whoever can open the state folder can do
      all that an admin can. Everybody else is on the list, or a stranger.
"""

import asyncio
import getpass
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from adapters.console.parse import ROOM
from adapters.store.open import Store
from bot.chat import claims
from bot.chat.allow_list import AllowList, unmatched
from bot.chat.departures import Departures
from bot.chat.desk import Desk, Wake
from bot.chat.facts import Manner
from bot.chat.secret_keeping import Keeping
from bot.goals.goal import Goal, State
from bot.ports.chat import Incoming, Place, Speaker
from bot.ports.clock import Clock
from bot.ports.doors import Claims
from bot.ports.journal import Lease
from bot.ports.mcp_servers import Looking
from bot.ports.people import Members, Register, Subject
from bot.ports.room_settings import RoomSettings
from bot.ports.snapshots import Snapshots
from bot.settings import Settings
from bot.wiring.names import Names
from scheduler.worker import Runner

log = logging.getLogger(__name__)


class ConsoleMembers:
    """Port Members, of the console: one room, of whoever can open the state folder."""

    async def is_member(self, room: Place, who: Speaker) -> bool:
        """Everybody who speaks at the console is in its room."""
        return room.network == "console"

    async def is_own(self, room: Place, who: Speaker) -> bool:
        """Nobody is a guest at the console."""
        return room.network == "console"

    async def is_in_group(self, group: Subject, who: Speaker) -> bool:
        """The console has no groups."""
        return False

    async def is_direct(self, place: Place) -> bool:
        """It is the room of whoever can open the state folder."""
        return place.network == "console"

    async def is_encrypted(self, place: Place) -> bool:
        """It is a file of this machine."""
        return False

    async def enter(self, room: Place) -> bool:
        """The bot is where its console is."""
        return room.network == "console"


def console_room(workspace: str) -> Place:
    """The one room of the console of that workspace."""
    return Place("console", workspace, ROOM)


def room_defaults(settings: Settings) -> RoomSettings:
    """What a room's settings are where nobody has set them."""
    return RoomSettings(
        model=settings.model,
        audit_model=settings.audit_model,
        budget_usd=settings.budget_usd,
        cap_usd=settings.cap_room_usd,
        cap_live_goals=settings.live_goals_room,
        zone=getattr(settings.tz, "key", ""),
        retention_days=round(settings.keep_texts_days),
        workspace_days=round(settings.keep_workspaces_days),
    )


async def open_allow_list(
    settings: Settings, names: Names, store: Store, members: Members | None = None
) -> AllowList:
    """The list as it is now. `members`: of all networks; without them, only the console is asked."""
    allow_list = AllowList(
        store.people,
        store.doors,
        store.rooms,
        members or ConsoleMembers(),
        room_defaults(settings),
    )
    user = getpass.getuser()
    await allow_list.note_operator(console_room(names.console), Speaker(user, user))
    await allow_list.load()
    return allow_list


def report_idle(register: Register, networks: frozenset[str]) -> None:
    """Say at the start that entries of the list can match nobody."""
    idle = unmatched(register, networks)
    if idle:
        is_all = len(idle) == len(register.entries)
        log.warning(
            "The allow-list has entries of networks that are not connected (%s)%s. Connect them, or "
            "remove the entries: `headway allow`.",
            ", ".join(sorted({entry.subject.network for entry in idle})),
            ", and matches nobody" if is_all else "",
        )


async def invite_admin(allow_list: AllowList, doors: Claims, networks: frozenset[str]) -> str:
    """Print a code to claim with where a network has no admin; returns it, or nothing.

    The console needs none: its operator is an admin by nature. The code goes to the operator's
    terminal (or the unit's journal) alone, and is not logged.
    """
    chiefs = {
        entry.subject.network
        for entry in allow_list.register.entries
        if entry.role == "admin" and entry.room is None
    }
    if networks - {"console"} <= chiefs:
        return ""
    code = claims.new_code()
    await doors.open_claim(claims.code_hash(code), lasts_s=claims.LASTS_S)
    sys.stderr.write(
        f"There is no admin yet. Send `claim {code}` to the bot in a direct message within "
        f"{claims.LASTS_S / 60:g} minutes to be it; `headway claim` prints a new code.\n"
    )
    return code


def keeping_of(settings: Settings, store: Store) -> Keeping:
    """What secrets of rooms are kept with."""
    has_form = settings.public_url and settings.public_listen
    return Keeping(store.secret_uses, settings.public_url if has_form else "")


def build_desk(
    settings: Settings,
    clock: Clock,
    store: Store,
    wake: Wake,
    posted: Callable[[], None],
    manner: Manner,
    allow_list: AllowList,
    recall: Callable[[], Awaitable[None]],
    taken: Callable[[Incoming, Goal], None],
    withdraw: Callable[[str], Awaitable[None]],
    looking: Looking | None = None,
    snapshots: Snapshots | None = None,
) -> Desk:
    """What commands work with; `taken` is told of what counts for a goal.

    `withdraw` is told of what is taken back; `looking` looks at servers of tools; `snapshots` tell what
    is in workspaces.
    """
    return Desk(
        inbox=store.inbox,
        journal=store.journal,
        rooms=store.rooms,
        outbox=store.outbox,
        forgetting=store.forgetting,
        clock=clock,
        budget=settings.budget,
        wake=wake,
        manner=manner,
        allow_list=allow_list,
        doors=store.doors,
        spending=store.spending,
        posted=posted,
        taken=taken,
        holds=store.holds,
        repositories=store.repositories,
        checkpoints=store.checkpoints,
        snapshots=snapshots,
        mcp_servers=store.mcp_servers,
        secrets=keeping_of(settings, store),
        permissions=store.permissions,
        profile=settings.profile,
        looking=looking,
        recall=recall,
        withdraw=withdraw,
    )


def watch_owners(
    allow_list: AllowList, store: Store, manner: Manner, posted: Callable[[], None]
) -> Departures:
    """What happens when an owner is lost; `wake` is set when there is a worker."""
    departures = Departures(
        allow_list, store.journal, store.rooms, store.doors, manner, posted=posted
    )
    allow_list.changed = departures.look
    return departures


class _Reads(Protocol):
    async def goal(self, goal: str) -> Goal: ...


@dataclass(frozen=True, slots=True)
class Entitled:
    """A runner that begins no turn of a goal whose owner may have none there any more."""

    inner: Runner
    departures: Departures
    journal: _Reads

    async def run(self, lease: Lease) -> Goal:
        """Run the turn, or let the goal rest."""
        if lease.goal.state is State.READY and await self.departures.lost(lease.goal):
            return await self.journal.goal(lease.goal.id)
        return await self.inner.run(lease)


async def follow(allow_list: AllowList, departures: Departures, *, is_shared: bool) -> None:
    """Look once at the owners as they are at the start; then at what other processes change."""
    await departures.look()
    if is_shared:
        await allow_list.follow()
    await asyncio.Event().wait()
