"""
Turns and audits by the model that a goal's room is set to.

Rule: a room that says nothing has the process's model, and costs nothing here.
"""

from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Generic, Protocol, TypeVar

from adapters.store.open import Store
from bot.agent.agent_settings import AgentSettings
from bot.agent.audit import Audits, AuditSettings, Gates
from bot.agent.filing import Shelves
from bot.agent.keeping import Kept
from bot.agent.reach import Lines
from bot.agent.turn import Turns
from bot.chat.allow_list import AllowList
from bot.goals.goal import Goal
from bot.ports.clock import Clock
from bot.ports.files import Files
from bot.ports.journal import Applied, Lease
from bot.ports.model import Model
from bot.ports.room_settings import RoomSettings
from bot.ports.sandbox import Sandbox
from bot.settings import Settings
from bot.tools.toolbox import Toolbox
from bot.wiring.endpoint_tools import endpoints_of
from bot.wiring.room_rules import RoomRules, by_default


class _Works(Protocol):
    async def run(self, lease: Lease) -> Goal: ...
    def heard(self, applied: Applied) -> None: ...


W = TypeVar("W", bound=_Works)


class ByRoom(Generic[W]):
    """One worker a model, made when a room first wants it."""

    def __init__(
        self,
        make: Callable[[str], W],
        allow_list: AllowList,
        model_of: Callable[[RoomSettings], str],
    ) -> None:
        self._make = make
        self._allow_list = allow_list
        self._model_of = model_of
        self._workers: dict[str, W] = {}

    async def run(self, lease: Lease) -> Goal:
        """Work at the goal with its room's model. Raises as whoever works."""
        place = await self._allow_list.home(lease.goal.session)
        model = self._model_of(self._allow_list.settings(place))
        if model not in self._workers:
            self._workers[model] = self._made(model)
        return await self._workers[model].run(lease)

    def heard(self, applied: Applied) -> None:
        """Take what this process, which is alone on the database, has written."""
        for worker in self._workers.values():
            worker.heard(applied)

    def _made(self, model: str) -> W:
        return self._make(model)


class RoomTurns(ByRoom[Turns]):
    """Turns, each with its room's model."""

    def __init__(self, make: Callable[[str], Turns], allow_list: AllowList) -> None:
        super().__init__(make, allow_list, lambda settings: settings.model)
        self._is_draining = False

    def drain(self) -> None:
        """Let every turn end its running step and begin no other."""
        self._is_draining = True
        for turns in self._workers.values():
            turns.drain()

    def forget_texts(self) -> None:
        """Keep no text that was read until now: some of them were erased."""
        for turns in self._workers.values():
            turns.forget_texts()

    def _made(self, model: str) -> Turns:
        turns = super()._made(model)
        if self._is_draining:
            turns.drain()
        return turns


RoomAudits = ByRoom[Audits]


def build_turns(
    settings: Settings,
    clock: Clock,
    store: Store,
    model: Model,
    sandbox: Sandbox | None,
    allow_list: AllowList,
    files: Files,
    *,
    toolboxes: Sequence[Toolbox] = (),
    lines: Lines | None = None,
    kept: Kept | None = None,
) -> RoomTurns:
    """The turns of a process; `toolboxes` give them further tools, `kept` keeps their workspaces."""
    endpoints = endpoints_of(settings, allow_list)
    rules = RoomRules(allow_list, store.permissions, by_default(settings))

    def make(name: str) -> Turns:
        return Turns(
            store.journal,
            model,
            sandbox,
            clock,
            settings.limits,
            _id,
            AgentSettings(
                model=name or settings.model,
                fallback_models=settings.fallback_models,
                max_tokens=settings.max_tokens,
                tool_timeout_s=settings.tool_timeout_s,
                compact_at=settings.compact_at,
                distil_model=settings.audit_model,
            ),
            lambda goal, text: None,
            Shelves(files, store.attachments),
            rules=rules,
            toolboxes=toolboxes,
            lines=lines,
            endpoints=endpoints,
            kept=kept,
        )

    return RoomTurns(make, allow_list)


def build_audits(
    settings: Settings,
    clock: Clock,
    store: Store,
    model: Model,
    allow_list: AllowList,
    gates: Gates | None = None,
) -> RoomAudits:
    """The audits of a process."""

    def make(name: str) -> Audits:
        return Audits(
            store.journal,
            model,
            clock,
            settings.limits,
            _id,
            AuditSettings(
                model=name or settings.audit_model,
                fallback_models=settings.fallback_models,
                timeout_s=settings.audit_timeout_s,
            ),
            gates,
        )

    return ByRoom(make, allow_list, lambda room: room.audit_model)


def _id() -> str:
    return token_hex(8)
