"""
What follows on each kind of payload, before it is acknowledged.

Rule 1: what somebody said is stored. What opens a window opens it, and is nobody's word.
Rule 2: what is told besides (a home that is looked at, a profile, suggestions) is done beside, save that
        somebody is gone: that is kept first.
"""

from collections.abc import Callable
from typing import Any, Final

from adapters.slack import interactions, views
from adapters.slack.agent_view import AgentView
from adapters.slack.ear import Ear
from adapters.slack.errands import Errands
from adapters.slack.leaving import EVENTS as LEFT
from adapters.slack.line import Line, Turn
from adapters.slack.opening import Opening, answer_of
from adapters.slack.parse import Hearer
from adapters.slack.payloads import Json, channel_of, fields, opaque, text_of, user_id
from adapters.slack.taking import Taking
from bot.errors import Wait
from bot.ports.chat import Incoming, Receive, Speaker

PROFILES: Final = frozenset({"user_change", "user_profile_changed"})
OPENED: Final = "app_home_opened"
CONTEXT: Final = "app_context_changed"


class Deeds:
    """Does it."""

    def __init__(
        self,
        ear: Ear,
        taking: Taking,
        line: Line,
        errands: Errands,
        receive: Receive,
        now: Callable[[], float],
        *,
        opening: Opening | None = None,
        agent: AgentView | None = None,
    ) -> None:
        """`opening`, `agent`: None where there is nothing to show, as in tests of less."""
        self._ear, self._taking, self._line, self._errands = ear, taking, line, errands
        self._receive, self._now, self._opening, self._agent = receive, now, opening, agent

    async def event(self, body: Json, turn: Turn) -> None:
        """Take an event in. Raises as `Receive`, and Wait."""
        event = fields(body.get("event"))
        kind = text_of(event.get("type"))
        if kind in LEFT:
            self._line.leave(turn)
            await self._ear.on_left(body, self._receive)
        elif kind in PROFILES or kind in (OPENED, CONTEXT):
            self._line.leave(turn)
            await self._notice(kind, body, event)
        else:
            await self._taking.event(body, turn)

    async def command(self, body: Json, turn: Turn) -> None:
        """Take a slash command in. Raises as `event`."""
        hearer = await self._taking.hearer_of(body)
        said = interactions.command(body, hearer, self._now()) if hearer else None
        if said is not None:
            await self._taking.store(turn, said)

    async def press(self, body: Json, turn: Turn) -> None:
        """Take presses in, or show what they open. Raises as `event`."""
        hearer = await self._taking.hearer_of(body)
        if hearer is None:
            return
        if page := interactions.page_of(body):
            self._turn_home(body, hearer, page)
        said = []
        for one in interactions.presses(body, hearer, self._now()):
            if self._opening is not None and self._opening.opens(one):
                self._open(body, hearer, one)
            else:
                said.append(one)
        await self._taking.store(turn, *said)

    async def shortcut(self, body: Json) -> None:
        """Open what a shortcut is for. Raises as `event`."""
        hearer = await self._taking.hearer_of(body)
        pressed = interactions.shortcut(body, hearer, self._now()) if hearer else None
        if hearer is not None and pressed is not None and self._opening is not None:
            self._open(body, hearer, pressed)

    async def form(self, body: Json, turn: Turn) -> dict[str, Any]:
        """Take a form in; what it is answered, where something is wrong with it. Raises as `event`."""
        view = fields(body.get("view"))
        hearer = await self._taking.hearer_of(body)
        who = interactions.speaker_of(body, hearer) if hearer is not None else None
        if hearer is None or who is None:
            return {}
        workspace = await self._taking.install_named(views.workspace_of(view), hearer)
        form = views.form_of(view, who, workspace, self._now())
        if form is None:
            return self._opening.lost if self._opening is not None else {}
        if self._opening is not None and (errors := await self._opening.errors(form)):
            return answer_of(errors, view)
        await self._taking.store(turn, form)
        return {}

    async def _notice(self, kind: str, body: Json, event: Json) -> None:
        hearer = await self._taking.hearer_of(body)
        if hearer is None:
            return
        workspace = hearer.workspace
        user = user_id(event.get("user"))
        self._ear.on_event(workspace, event)
        if kind in PROFILES:
            await self._ear.on_profile(workspace, fields(event.get("user")))
            return
        if kind == CONTEXT or "context" in event:
            self._look(workspace, user, fields(event.get("context")))
        if kind == OPENED and user and user not in hearer.names.us:
            self._opened(hearer, event, user)

    def _look(self, workspace: str, user: str, context: Json) -> None:
        if self._agent is not None:
            self._agent.looks_at(workspace, user, context)

    def _opened(self, hearer: Hearer, event: Json, user: str) -> None:
        """Somebody opened the home, or the conversation beside it."""
        workspace = hearer.workspace
        if event.get("tab") == "messages":
            prompts = self._ear.prompts()
            if self._agent is not None and prompts is not None:
                suggesting = self._agent.suggest(
                    workspace, channel_of(event.get("channel")), prompts
                )
                self._errands.start("suggestions", suggesting)
            return
        self._errands.start("a home", self._home(workspace, hearer.speaker(user, event), 1))

    def _turn_home(self, body: Json, hearer: Hearer, page: int) -> None:
        who = interactions.speaker_of(body, hearer)
        if who is not None:
            self._errands.start("a home", self._home(hearer.workspace, who, page))

    async def _home(self, workspace: str, who: Speaker, page: int) -> None:
        await self._ear.on_home(workspace, who, page)

    def _open(self, body: Json, hearer: Hearer, pressed: Incoming) -> None:
        assert self._opening is not None
        begun = self._opening.begin(
            hearer.install,
            opaque(body.get("trigger_id")),
            pressed,
            is_in_modal=interactions.is_in_modal(body),
        )
        if not begun:
            raise Wait("Too many windows are opened at once.")
