"""
What people say, before it is stored: a known secret value that stands in it is taken out.

Rule: whoever said it is told once for each secret, in the place where it was said: others may have
read it there.
"""

from dataclasses import replace

from bot.chat.facts import Manner
from bot.chat.heard import named_plainly
from bot.ports.chat import Arrival, Changed, Incoming, Reacted, Receive
from bot.ports.mail import Outbox, Rooms
from bot.ports.positions import Position
from bot.redaction import Redactor, mark


class Screening:
    """Stands between the networks and the intake."""

    def __init__(
        self,
        receive: Receive,
        rooms: Rooms,
        outbox: Outbox,
        redactor: Redactor,
        manner: Manner,
    ) -> None:
        self._receive = receive
        self._rooms, self._outbox = rooms, outbox
        self._redactor, self._manner = redactor, manner

    async def receive(self, *arrivals: Arrival, upto: Position | None = None) -> None:
        """Store what came without secrets. Raises as the store does; then it is given again."""
        screened = [await self._screened(one) for one in arrivals]
        await self._receive(*screened, upto=upto)

    async def _screened(self, message: Arrival) -> Arrival:
        if isinstance(message, Changed | Reacted):
            message = message.as_message
        if not isinstance(message, Incoming):
            return message
        said = [message.text, *(value for _, value in message.form)]
        for name in dict.fromkeys(name for one in said for name in self._redactor.names_in(one)):
            await self._tell(message, name)
        text = self._redactor.text(message.text)
        form = tuple((name, self._redactor.text(value)) for name, value in message.form)
        is_clean = text == message.text and form == message.form
        return message if is_clean else replace(message, text=text, form=form)

    async def _tell(self, message: Incoming, name: str) -> None:
        """Queue it under a key of its own: said again, it is not queued again."""
        text = self._manner.texts("said.secret", mark=mark(name))
        network, speaker = message.place.network, named_plainly(message.speaker)
        thread = await self._rooms.begin(message.place)
        person = await self._rooms.person(network, speaker)
        key = f"secret:{network}:{speaker.id}:{name}"
        await self._outbox.say(thread.session, key, text, only_for=person)
