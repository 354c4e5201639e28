"""
What people say, before it is stored: what is secret in it, or looks so, is taken out.

Rule 1: whoever said a known value is told once for each secret, in the place where it was said: others
        may have read it there.
Rule 2: whoever said what looks secret is told once a day in a room or thread, and how goals get secrets: who is on
        the list there, or has called the bot. What anybody said goes its way without it.
Rule 3: a value that was typed in a form is sealed first; the form is stored with the name of that.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from bot.chat.facts import Manner
from bot.chat.heard import named_plainly
from bot.chat.left_out import kinds_in, without_suspects
from bot.chat.parse import is_called
from bot.chat.secret_forms import SealedForms
from bot.errors import HeadwayError
from bot.ports.chat import Arrival, Changed, Incoming, Reacted, Receive
from bot.ports.mail import Outbox, Rooms
from bot.ports.positions import Position
from bot.redaction import Redactor, mark

DAY_S: Final = 86_400.0


async def _anybody(message: Incoming) -> bool:
    return True


class Screening:
    """Stands between the networks and the intake."""

    def __init__(
        self,
        receive: Receive,
        rooms: Rooms,
        outbox: Outbox,
        redactor: Redactor,
        manner: Manner,
        forms: SealedForms | None = None,
        is_known: Callable[[Incoming], Awaitable[bool]] = _anybody,
    ) -> None:
        """`is_known`: whether whoever said something is on the list there."""
        self._receive = receive
        self._rooms, self._outbox = rooms, outbox
        self._redactor, self._manner = redactor, manner
        self._forms, self._is_known = forms, is_known

    async def receive(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Store what came without secrets. Raises as the store does; then it is given again."""
        screened = [await self._screened(one) for one in arrivals]
        await self._receive(*screened, upto=upto)

    async def _screened(self, message: Arrival) -> Arrival:
        if isinstance(message, Changed | Reacted):
            message = message.as_message
        if not isinstance(message, Incoming):
            return message
        if self._forms is not None:
            message = await self._forms.without_value(message)
        said = [message.text, *(value for _, value in message.form)]
        for name in dict.fromkeys(name for one in said for name in self._redactor.names_in(one)):
            await self._tell(message, name)
        text = self._redactor.text(message.text)
        text, kinds = without_suspects(text, self._manner.texts)
        if not kinds and message.place.network == "console":
            # Its room is a file of ours, in which it was never written down.
            kinds = kinds_in(text, self._manner.texts)
        if kinds and await self._is_told(message):
            await self._tell_of(message, kinds)
        form = tuple((name, self._redactor.text(value)) for name, value in message.form)
        is_clean = text == message.text and form == message.form
        return message if is_clean else replace(message, text=text, form=form)

    async def _tell_of(self, message: Incoming, kinds: tuple[str, ...]) -> None:
        """The same of what looks secret."""
        texts, place, day = self._manner.texts, message.place, int(message.at // DAY_S)
        text = texts("said.looks_secret", kinds=texts("list_of").join(kinds))
        at = (place.network, place.workspace, place.room, place.thread)
        who = named_plainly(message.speaker).id
        await self._say(message, f"looks-secret:{':'.join(at)}:{who}:{day}", text)

    async def _is_told(self, message: Incoming) -> bool:
        if message.via != "message" or is_called(message.text):
            return True
        try:
            return await self._is_known(message)
        except HeadwayError:
            # Their network does not say now. Better one word too many.
            return True

    async def _tell(self, message: Incoming, name: str) -> None:
        """Queue it under a key of its own: said again, it is not queued again."""
        text = self._manner.texts("said.secret", mark=mark(name))
        network, speaker = message.place.network, named_plainly(message.speaker)
        await self._say(message, f"secret:{network}:{speaker.id}:{name}", text)

    async def _say(self, message: Incoming, key: str, text: str) -> None:
        speaker = named_plainly(message.speaker)
        thread = await self._rooms.begin(message.place)
        person = await self._rooms.person(message.place.network, speaker)
        await self._outbox.say(thread.session, key, text, only_for=person)
