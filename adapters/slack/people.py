"""
Who the people of Slack are: names, and whether the workspace is theirs.

Rule 1: what Slack said of somebody counts for an hour, that it knows nobody of the name for five
        minutes. Of many the ones not asked for longest are forgotten.
Rule 2: one person is asked for once, however many wait; in a storm of strangers a few at a time.
Rule 3: who cannot be looked up is a stranger.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from adapters.slack.calling import Calls, Json
from adapters.slack.ids import is_user, person_id
from adapters.slack.payloads import fields, text_of, user_id
from bot.errors import HeadwayError, Refused
from bot.ports.chat import Speaker
from bot.ports.clock import Clock

KEPT_S: Final = 3600.0
NOBODY_S: Final = 300.0
MOST: Final = 20_000
AT_ONCE: Final = 4
"""People who are asked for at the same time."""
NOT_THERE: Final = frozenset({"user_not_found", "user_not_visible", "users_not_found"})
NAME_CHARS: Final = 80
SLACKBOT: Final = "USLACKBOT"


@dataclass(frozen=True, slots=True)
class Home:
    """Whose an install is: ids of the team and of the enterprise, empty what there is none of."""

    team: str
    enterprise: str
    bot_user: str
    bot: str = ""

    @property
    def ids(self) -> frozenset[str]:
        """Under which its people are known."""
        return frozenset({self.team, self.enterprise} - {""})


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody as Slack tells of them."""

    user: str
    team: str
    """Where they belong; of another organisation's person, theirs."""
    enterprise: str
    name: str
    is_bot: bool = False
    is_gone: bool = False
    is_guest: bool = False

    @property
    def home(self) -> str:
        """The enterprise to which they belong, or else the team."""
        return self.enterprise or self.team

    @property
    def id(self) -> str:
        """As in `Speaker.id`."""
        return person_id(self.home, self.user)

    @property
    def speaker(self) -> Speaker:
        """As the rest of the product knows them."""
        return Speaker(self.id, self.name)


class Directory:
    """The people whom the installs of an app have met."""

    def __init__(self, calls: Calls, clock: Clock) -> None:
        self._calls, self._clock = calls, clock
        self._known: OrderedDict[tuple[str, str], tuple[float, Person | None]] = OrderedDict()
        self._homes: dict[str, Home] = {}
        self._met: OrderedDict[str, set[str]] = OrderedDict()
        self._asking: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def home(self, workspace: str) -> Home:
        """Whose the install of a workspace is. Raises HeadwayError."""
        known = self._homes.get(workspace)
        if known is None:
            told = await self._calls.call(workspace, "auth.test", what="The bot is not known")
            known = self._homes[workspace] = home_of(told)
        return known

    async def person(self, workspace: str, user: str) -> Person | None:
        """Somebody as an install sees them; None: nobody whom Slack shows it. Raises HeadwayError."""
        if not is_user(user):
            return None
        key = (workspace, user)
        self._meet(workspace, user)
        if not self._is_fresh(key):
            # Who gives up waiting knows it the next time.
            await asyncio.shield(self._asking.get(key) or self._ask(key))
        return self.seen(workspace, user)

    async def these(self, workspace: str, users: Collection[str]) -> dict[str, Person]:
        """Those of several users who can be looked up, by their ids."""
        found = await asyncio.gather(
            *(self.person(workspace, user) for user in users), return_exceptions=True
        )
        # What is no error of ours is a defect, or the end of whoever asked.
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, HeadwayError):
                raise one
        return {one.user: one for one in found if isinstance(one, Person)}

    def seen(self, workspace: str, user: str) -> Person | None:
        """Somebody as they were when Slack was asked last; None: never."""
        key = (workspace, user)
        if key not in self._known:
            return None
        self._known.move_to_end(key)
        return self._known[key][1]

    def where(self, user: str) -> tuple[str, ...]:
        """The workspaces in which somebody was met, whether or not they could be looked up."""
        return tuple(sorted(self._met.get(user, ())))

    async def is_own(self, workspace: str, user: str) -> bool:
        """Whether the workspace is theirs in full: no guest, no bot, of no other organisation.

        Raises:
            HeadwayError: they cannot be looked up at the moment.
        """
        person = await self.person(workspace, user)
        return person is not None and belongs(person, await self.home(workspace))

    def changed(self, workspace: str, told: object) -> Person | None:
        """Slack told of somebody's profile anew (`user_change`, `team_join`); who it is."""
        person = person_of(told)
        if person is not None and (workspace, person.user) in self._known:
            self._keep((workspace, person.user), person)
        return person

    def forget(self, workspace: str) -> None:
        """The app was uninstalled there."""
        self._homes.pop(workspace, None)
        for workspaces in self._met.values():
            workspaces.discard(workspace)
        for key in [key for key in self._known if key[0] == workspace]:
            del self._known[key]

    async def close(self) -> None:
        """Ask no more."""
        tasks = tuple(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ask(self, key: tuple[str, str]) -> "asyncio.Task[None]":
        async def asked() -> None:
            async with self._turns:
                self._keep(key, await self._asked(*key))

        def over(task: "asyncio.Task[None]") -> None:
            del self._asking[key]
            if not task.cancelled():
                # It may be that nobody waits any more.
                task.exception()

        task = asyncio.create_task(asked(), name=f"who {key[1]} is")
        self._asking[key] = task
        task.add_done_callback(over)
        return task

    def _meet(self, workspace: str, user: str) -> None:
        self._met.setdefault(user, set()).add(workspace)
        self._met.move_to_end(user)
        while len(self._met) > MOST:
            self._met.popitem(last=False)

    def _is_fresh(self, key: tuple[str, str]) -> bool:
        at, person = self._known.get(key, (-math.inf, None))
        return self._clock.now() - at < (NOBODY_S if person is None else KEPT_S)

    async def _asked(self, workspace: str, user: str) -> Person | None:
        try:
            answer = await self._calls.call(
                workspace, "users.info", what="Who somebody is cannot be asked", user=user
            )
        except Refused as error:
            if error.code not in NOT_THERE:
                raise
            return None
        return person_of(answer.get("user"))

    def _keep(self, key: tuple[str, str], person: Person | None) -> None:
        self._known.pop(key, None)
        self._known[key] = (self._clock.now(), person)
        while len(self._known) > MOST:
            self._known.popitem(last=False)


def home_of(told: Json) -> Home:
    """Whose a token is, of the answer of `auth.test`."""
    return Home(
        user_id(told.get("team_id")), user_id(told.get("enterprise_id")),
        user_id(told.get("user_id")), user_id(told.get("bot_id")),
    )  # fmt: skip


def person_of(told: object) -> Person | None:
    """Somebody of Slack's `user` object; None where it is none."""
    user = fields(told)
    id = user_id(user.get("id"))
    if not id:
        return None
    profile = fields(user.get("profile"))
    named = (
        profile.get("display_name"), profile.get("real_name"), user.get("real_name"),
        user.get("name"),
    )  # fmt: skip
    team = user_id(user.get("team_id")) or user_id(profile.get("team"))
    grid = user_id(fields(user.get("enterprise_user")).get("enterprise_id"))
    return Person(
        user=id,
        team=team,
        enterprise=grid or (team if team.startswith("E") else ""),
        name=next(filter(None, (_plain(text_of(one)) for one in named)), id),
        is_bot=user.get("is_bot") is True or user.get("is_workflow_bot") is True or id == SLACKBOT,
        is_gone=user.get("deleted") is True,
        is_guest=user.get("is_restricted") is True or user.get("is_ultra_restricted") is True,
    )


def belongs(person: Person, home: Home) -> bool:
    """Whether an install's workspace, or its organisation, is somebody's own in full."""
    if person.is_bot or person.is_guest or person.is_gone:
        return False
    if home.enterprise:
        return person.enterprise == home.enterprise
    return bool(person.team) and person.team == home.team


def _plain(name: str) -> str:
    """A name on one line, of a length that a line of ours bears."""
    return " ".join("".join(one if one.isprintable() else " " for one in name).split())[:NAME_CHARS]
