"""
What the bot has to show apart from messages: which presses open a window, the window, what is wrong with
a form, a person's home.

Rule: a press opens a window by its verb; what cannot be shown is a sentence, raised as `Refused`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from bot.chat.checks import Checks
from bot.chat.desk import Desk
from bot.chat.details import Whole, details, hashes_of, people_of
from bot.chat.facts import gather
from bot.chat.forms import Forms
from bot.chat.home import Homes, Reader
from bot.chat.pressed import About, about, refuse_outsiders, some
from bot.chat.room_forms import RoomForms
from bot.chat.secret_forms import SecretForms
from bot.chat.typed import sentence_as_typed
from bot.errors import Refused
from bot.ports.chat import Incoming, Network, Place, Speaker
from bot.ports.files import Attachments
from bot.ports.records import Records
from bot.ports.windows import AIM, NEW, Home, Window
from bot.redaction import Redactor

DETAILS: Final = "trace"
SETTINGS: Final = "room"
SECRET: Final = "secret"
_OPENING: Final = re.compile(r"(edit|budget|trace|reopen)(?: ([gG][0-9]{1,9}))?")


class PersonalWindows:
    """Port Windows."""

    def __init__(
        self,
        desk: Desk,
        records: Records,
        network: Network = "slack",
        *,
        attachments: Attachments | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        """`network`: whose people these are."""
        self._desk = desk
        self._records = records
        self._network: Network = network
        self._attachments = attachments
        self._redactor = redactor or Redactor()
        self._checks, self._homes = Checks(desk), Homes(desk)
        self._of = {
            **Forms(desk).of,
            SETTINGS: RoomForms(desk).window,
            DETAILS: self._details,
            SECRET: SecretForms(desk).window,
        }

    def opens(self, pressed: Incoming) -> bool:
        """Whether a press opens a window; a command or a message never does."""
        return pressed.via == "button" and _verb(pressed.text) is not None

    async def window(self, pressed: Incoming) -> Window:
        """The window that it opens. Raises Refused, with what is shown in its place; as the store does."""
        texts = self._desk.manner.texts
        verb = _verb(pressed.text)
        if verb is None:
            raise Refused(texts("window.unknown"), code="no_window")
        word, named = verb
        found = await about(self._desk, pressed, named=named)
        try:
            if word not in (NEW, AIM):
                await refuse_outsiders(self._desk, found)
            shown = await self._of[word](found)
        except Refused as error:
            raise Refused(self._typed(str(error)), code=error.code) from None
        return self._redactor.all(shown)

    async def errors(self, filled: Incoming) -> Mapping[str, str]:
        """What is wrong with a form, by the name of the input. Raises as the store does."""
        wrong = await self._checks.wrong(await about(self._desk, filled))
        return {name: self._typed(why) for name, why in wrong.items()}

    async def home(self, workspace: str, who: Speaker, page: int = 1) -> Home:
        """The person's home. Raises as the store does."""
        person = await self._desk.rooms.person(self._network, who)
        reader = Reader(self._network, workspace, who, person)
        home = await self._homes.read(reader, page)
        parts = (replace(part, note=self._typed(part.note)) for part in home.parts)
        return self._redactor.all(replace(home, parts=tuple(parts)))

    def _typed(self, sentence: str) -> str:
        """The sentence with the command by the name that it has there."""
        main = Place(self._network, "", "")
        return sentence_as_typed(sentence, main, self._desk.manner.commands)

    async def _details(self, found: About) -> Window:
        desk, goal = self._desk, some(self._desk, found)
        trace = await self._records.trace(goal.id)
        facts = await gather(goal, desk.journal, desk.rooms, desk.clock.now(), holds=desk.holds)
        people = await desk.rooms.people(people_of(trace))
        names = {person: one.name for person, one in people.items()}
        files = await self._attachments.of_goal(goal.id) if self._attachments else ()
        whole = Whole(
            replace(facts, names={**facts.names, **names}),
            trace,
            await self._records.spend(goal.id),
            files,
            await desk.journal.contents(goal.session, hashes_of(trace)),
        )
        return details(whole, desk.manner_in(found.place))


def _verb(text: str) -> tuple[str, str] | None:
    """The verb of a press that opens a window, and the goal that it names; else None."""
    if text in ("", NEW, SETTINGS) or text.partition("\n")[0] == AIM:
        return text.partition("\n")[0], ""
    if text.startswith(f"{SECRET} "):
        return SECRET, ""
    match = _OPENING.fullmatch(text.strip())
    return (match[1], match[2] or "") if match else None
