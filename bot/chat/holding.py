"""
The verbs `hold` and `release`.

Rule 1: a hold, its answer and the mark on the message are one transaction.
Rule 2: the hold of a restore is released on the command line alone, which first says what it found.
"""

from typing import Final

from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.held import since, why
from bot.chat.hold_words import HoldWords, read_hold
from bot.chat.parse import Command
from bot.errors import BadInput
from bot.ports.holds import ALL, Hold, Holds


class HoldCommands:
    """One method a verb."""

    verbs: Final = frozenset({"hold", "release"})

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def run(self, heard: Heard, command: Command) -> None:
        """Do what the command says. Raises Refused, BadInput."""
        words = read_hold(command.text, heard.message.place)
        assert words is not None
        message, is_wide = heard.message, words.is_all or words.person is not None
        if is_wide and not await self._desk.allow_list.is_chief(message.place, message.speaker):
            raise BadInput(self._desk.manner.texts("bad.wide", verb=command.verb.name))
        scope, what = await self._scope(heard, words)
        if command.verb.name == "hold":
            await self._hold(heard, scope, what, words)
        else:
            await self._release(heard, scope, what)
        await self._desk.recall()
        self._desk.posted()

    async def _hold(self, heard: Heard, scope: str, what: str, words: HoldWords) -> None:
        texts, holds = self._desk.manner.texts, self._holds
        stands = {hold.scope: hold for hold in await holds.standing()}.get(scope)
        if stands is None:
            release = _words("release", words)
            told = texts("said.held", what=what, release=release)
        else:
            manner = self._desk.manner_in(heard.message.place)
            told = texts(
                "said.held.already",
                what=what,
                since=since(stands, self._desk.clock.now(), manner),
                why=why(stands, manner),
            ).rstrip()
        await holds.hold(scope, heard.person, words.why, await self._desk.reply(heard, told))

    async def _release(self, heard: Heard, scope: str, what: str) -> None:
        texts, holds = self._desk.manner.texts, self._holds
        standing = {hold.scope: hold for hold in await holds.standing()}
        is_held = scope in standing
        told = [texts("said.released" if is_held else "said.released.none", what=what)]
        standing.pop(scope, None)
        told += [texts("said.released.still", what=self._what(one)) for one in standing.values()]
        await holds.release(scope, await self._desk.reply(heard, " ".join(told)))

    async def _scope(self, heard: Heard, words: HoldWords) -> tuple[str, str]:
        """The scope that is meant, and how it is called. Raises BadInput."""
        texts, holds = self._desk.manner.texts, self._holds
        if words.is_all:
            return ALL, texts("held.all")
        if words.person is None:
            # Whatever is answered in a room makes it known.
            place = (await self._desk.where(heard)).place
            scope = await holds.room_at(place)
            assert scope is not None
            return scope, texts("held.here")
        subject = words.person
        found = await holds.named("person", f"{subject.network}:{subject.id}")
        if len(found) != 1:
            raise BadInput(texts("bad.nobody", name=f"@{subject.id.lstrip('@')}"))
        name = subject.name or found[0].name.partition(":")[2]
        return found[0].scope, texts("held.person", name=name)

    @property
    def _holds(self) -> Holds:
        assert self._desk.holds is not None
        return self._desk.holds

    def _what(self, hold: Hold) -> str:
        texts = self._desk.manner.texts
        kind, name = hold.scope.partition(":")[0], hold.name.partition(":")[2]
        return texts(f"held.{kind}", name=name)


def _words(verb: str, words: HoldWords) -> str:
    if words.is_all:
        return f"{verb} all"
    return verb if words.person is None else f"{verb} @{words.person.id.lstrip('@')}"
