"""
The verb `gate`: a goal's checks, as people set them.

Rule: a check is a person's text, and only who may edit the goal sets one. It runs in the goal's sandbox:
what a profile allows the agent unasked says nothing about it.
"""

from typing import Final, Protocol

from bot.chat.desk import Commit, Desk
from bot.chat.gate_words import GateWords, list_text, read_gate
from bot.chat.heard import Heard
from bot.chat.parse import Command
from bot.chat.rights import Act
from bot.errors import BadInput, Refused
from bot.goals.events import GatesSet
from bot.goals.goal import Goal
from bot.goals.hands import GateLine
from bot.goals.objective_lines import CHECK_CHARS, CHECKS_MOST
from bot.ports.journal import Content

TRIES: Final = 3
"""How often a change is made anew where somebody else's was sooner."""


class MayWith(Protocol):
    """`Commands.may`, of a goal."""

    async def __call__(self, heard: Heard, act: Act, goal: Goal | None = None) -> bool: ...


class GateCommands:
    """`gate [G12] [add COMMAND | remove N | list]`."""

    verbs: Final = frozenset({"gate"})

    def __init__(self, desk: Desk, commit: Commit, may: MayWith) -> None:
        self._desk, self._commit, self._may = desk, commit, may

    async def gate(self, heard: Heard, goal: Goal, command: Command) -> None:
        """Show the checks, or change them. Raises Refused, BadInput."""
        words = read_gate(command.text) or GateWords()
        if not words.add and not words.remove:
            hashes = (goal.objective, *(gate.command for gate in goal.gates))
            contents = await self._desk.journal.contents(goal.session, sorted(set(hashes)))
            await self._desk.answer(heard, list_text(goal, contents, self._desk.manner.texts))
            return
        if not await self._may(heard, Act.EDIT, goal):
            return
        if goal.is_final:
            raise Refused("The goal has ended.", code="final")
        for _ in range(TRIES):
            try:
                await self._change(heard, goal, words)
                return
            except Refused as error:
                if error.code != "gates_changed":
                    raise
            # Somebody else set one at the same moment: this one is added to theirs.
            goal = await self._desk.journal.goal(goal.id)
        await self._change(heard, goal, words)

    async def _change(self, heard: Heard, goal: Goal, words: GateWords) -> None:
        if words.add:
            await self._add(heard, goal, words.add)
        else:
            await self._remove(heard, goal, words)

    async def _add(self, heard: Heard, goal: Goal, text: str) -> None:
        texts = self._desk.manner.texts
        if len(text) > CHECK_CHARS:
            raise BadInput(texts("bad.gate.long", most=CHECK_CHARS))
        if len(goal.gates) >= CHECKS_MOST:
            raise BadInput(texts("bad.gate.many", most=CHECKS_MOST))
        content = Content(text, heard.person)
        if any(gate.command == content.hash for gate in goal.gates):
            raise BadInput(texts("bad.gate.twice"))
        line = GateLine(goal.gates_made + 1, content.hash, heard.person)
        told = texts("said.gate.added", n=line.number, goal=self._desk.name(goal))
        changed = _set(heard, goal, (*goal.gates, line))
        await self._commit(heard, goal, changed, contents=(content,), told=lambda _: told)

    async def _remove(self, heard: Heard, goal: Goal, words: GateWords) -> None:
        texts, name = self._desk.manner.texts, self._desk.name(goal)
        kept = tuple(gate for gate in goal.gates if gate.number != words.remove)
        if len(kept) == len(goal.gates):
            raise BadInput(texts("bad.gate.none", n=words.remove, goal=name))
        told = texts("said.gate.removed", n=words.remove, goal=name)
        await self._commit(heard, goal, _set(heard, goal, kept), told=lambda _: told)


def _set(heard: Heard, goal: Goal, gates: tuple[GateLine, ...]) -> GatesSet:
    """These in the place of those that the goal has now."""
    return GatesSet(heard.person, gates, over=tuple(gate.number for gate in goal.gates))
