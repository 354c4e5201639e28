"""
The settings of a room as a form, an input a setting.

Rule 1: what differs from what is set is set; what a form says as it was opened changes nothing.
Rule 2: each change and what the room is told of it are one transaction. The last one has the form handled:
        handled again after a crash, it finds done what was done.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from bot.chat.desk import Desk
from bot.chat.forms import length
from bot.chat.heard import Heard
from bot.chat.pressed import About, refuse
from bot.chat.rights import Act
from bot.chat.room_words import OPEN, read_value, value_text
from bot.errors import BadInput
from bot.ports.chat import Place
from bot.ports.people import Answer, Note
from bot.ports.room_settings import CHOICES, KEYS, KINDS, Kept, Setting
from bot.ports.windows import Input, Window

SHOWN: Final = tuple(key for key in KEYS if key != "reactions")
"""Where windows are, nothing is encrypted, and what reactions approve there is nobody's question."""
VALUE_MOST: Final = 120
HOSTS_MOST: Final = 3_000
Changes = tuple[tuple[str, Setting | None], ...]


class RoomForms:
    """Shows the form, reads it, and does what it says."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def window(self, found: About) -> Window:
        """The form. Raises Refused where somebody may not set anything."""
        texts = self._desk.manner.texts
        place = room_of(found.message.place)
        refuse(self._desk, found, Act.SETTINGS)
        own = self._desk.allow_list.kept(place)
        asked = (self._input(key, place, own) for key in SHOWN)
        return Window(
            texts("window.settings"),
            "room",
            place,
            # A value that no form takes would come back as none: it is set in words.
            inputs=tuple(one for one in asked if length(one.value) <= one.most),
            submit=texts("window.save"),
            close=texts("window.cancel"),
        )

    def wrong(self, form: Iterable[tuple[str, str]]) -> Mapping[str, str]:
        """What is wrong with each setting, by its key."""
        wrong = {}
        for key, text in form:
            try:
                if key in KEYS:
                    self._read(key, text)
            except BadInput as error:
                wrong[key] = str(error)
        return wrong

    async def set(self, heard: Heard) -> None:
        """Set what differs. Raises BadInput, and as the store does."""
        desk, texts, place = self._desk, self._desk.manner.texts, room_of(heard.message.place)
        changes = self._changes(place, heard.message.form)
        if not changes:
            await desk.answer(heard, texts("said.room.same"))
            return
        session = (await desk.rooms.begin(place)).session
        last, by = changes[-1][0], heard.message.speaker.name
        for key, value in changes:
            told = texts("said.room.set", key=key, value=value_text(value, texts), by=by)
            note = Note(session, f"room:{heard.id}:{key}", told)
            answer = Answer((note,), (heard.id,) if key == last else ())
            await desk.allow_list.set_for_room(place, key, value, by=heard.person, answer=answer)
        desk.posted()

    def _changes(self, place: Place, form: Iterable[tuple[str, str]]) -> Changes:
        own = self._desk.allow_list.kept(place)
        read = [(key, self._read(key, text)) for key, text in form if key in KEYS]
        return tuple((key, value) for key, value in read if value != _value(own, key))

    def _read(self, key: str, text: str) -> Setting | None:
        """A setting's value; None: left open."""
        text = text.strip()
        if text.lower() in ("", OPEN):
            return None
        return read_value(key, text, self._desk.manner.texts)

    def _input(self, key: str, place: Place, own: Mapping[str, Kept]) -> Input:
        texts = self._desk.manner.texts
        value = _value(own, key)
        shown = "" if value is None else value_text(value, texts)
        now = value_text(getattr(self._desk.allow_list.settings(place), key), texts)
        hint = texts("window.setting.hint", help=texts(f"room.{key}"), now=now)
        words = CHOICES.get(key) or (("on", "off") if KINDS[key] is bool else ())
        if not words:
            most = HOSTS_MOST if key == "hosts" else VALUE_MOST
            return Input(key, key, "line", shown, most, hint, is_optional=True)
        options = ((OPEN, texts("room.default")), *((word, word) for word in words))
        return Input(key, key, "choice", shown or OPEN, hint=hint, options=options)


def room_of(place: Place) -> Place:
    """The room of a place."""
    return Place(place.network, place.workspace, place.room)


def _value(own: Mapping[str, Kept], key: str) -> Setting | None:
    return own[key].value if key in own else None
