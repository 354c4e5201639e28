"""
`secret`: the secrets that a room's goals use.

Rule 1: an admin's alone. A value comes by a form, and by nothing that is said.
Rule 2: a secret that others have, too, is given to a room only by who is an admin everywhere, and as it is.
Rule 3: a change and what the room is told of it are one transaction.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from secrets import token_urlsafe
from typing import Final

from bot.chat.abilities import HAS_BUTTONS
from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.parse import Command
from bot.chat.replies import SECRET
from bot.chat.room_forms import room_of
from bot.chat.secret_keeping import Keeping
from bot.chat.secret_words import HOSTS_MOST, SecretWords, read_secret
from bot.chat.texts import Texts
from bot.errors import BadInput, Refused
from bot.ports.chat import Place
from bot.ports.gateway import InUse
from bot.ports.people import Answer, Note
from bot.ports.secret_uses import FormLink, Use, Value

LASTS_S: Final = 900.0
"""Of a link to a form."""
PATH: Final = "/secret"
"""Of the form, below the public address."""


class SecretCommands:
    """One method for each of the verb's ways."""

    verbs = frozenset({"secret"})

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def run(self, heard: Heard, command: Command) -> None:
        """Do what the words say. Raises BadInput, Refused, and as the store does."""
        words = read_secret(command.text) or SecretWords("list")
        place = room_of(heard.message.place)
        if words.wrong:
            raise BadInput(self._wrong(words))
        match words.do:
            case "list":
                await self._list(heard, place)
            case "remove":
                await self._remove(heard, place, words.name)
            case "keep":
                await self._keep(heard, place, words)

    async def _list(self, heard: Heard, place: Place) -> None:
        uses = await kept(self._desk).uses.of(place)
        await self._desk.answer(heard, listed(uses, self._desk.manner.texts))

    async def _remove(self, heard: Heard, place: Place, name: str) -> None:
        texts = self._desk.manner.texts
        told = texts("said.secret.removed", name=name, by=heard.message.speaker.name)
        answer = await self._desk.reply(heard, told)
        if not await kept(self._desk).uses.stop(place, name, answer):
            raise BadInput(texts("bad.secret.unknown", name=name))
        self._desk.posted()

    async def _keep(self, heard: Heard, place: Place, words: SecretWords) -> None:
        uses = kept(self._desk).uses
        others = await uses.elsewhere(place, words.name)
        if others is not None:
            await self._share(heard, place, words, others)
            return
        mine = {use.secret.name: use.secret for use in await uses.of(place)}
        secret = _as_said(words, mine.get(words.name))
        if not (secret.hosts or secret.mode == "given"):
            raise BadInput(self._desk.manner.texts("bad.secret.nowhere", name=words.name))
        await self._ask(heard, place, secret)

    async def _share(
        self, heard: Heard, place: Place, words: SecretWords, hosts: tuple[str, ...]
    ) -> None:
        """Give the room one that is kept already, as it is bound. Raises Refused."""
        texts = self._desk.manner.texts
        if not await self._desk.allow_list.is_chief(place, heard.message.speaker):
            raise Refused(texts("refused.secret_elsewhere"), code="secret_elsewhere")
        if words.hosts and set(words.hosts) != set(hosts):
            shown = texts("list_of").join(hosts) or texts("said.secrets.nowhere")
            raise Refused(texts("refused.secret_bound", hosts=shown, name=words.name), code="other")
        secret = replace(words.in_use, hosts=hosts)
        if not (hosts or words.is_given):
            raise BadInput(texts("bad.secret.nowhere", name=words.name))
        told = kept_text(secret, heard.message.speaker.name, texts)
        answer = await self._desk.reply(heard, told)
        keep = kept(self._desk).uses.keep
        await keep(place, secret, Value(), by=heard.person, is_chief=True, answer=answer)
        self._desk.posted()

    async def _ask(self, heard: Heard, place: Place, secret: InUse) -> None:
        """Show the way to the form."""
        texts = self._desk.manner.texts
        if place.network in HAS_BUTTONS:
            is_given = secret.mode == "given"
            key = "said.secret.enter.given" if is_given else "said.secret.enter"
            text = texts(key, name=secret.name, hosts=texts("list_of").join(secret.hosts))
            await self._desk.answer(heard, text, reason=f"{SECRET}:{as_words(secret)}")
            return
        if not kept(self._desk).public_url:
            hosts = "".join(f" --host {host}" for host in secret.hosts)
            text = texts("said.secret.no_form", name=secret.name, hosts=hosts)
            await self._desk.answer(heard, text)
            return
        await self._send_link(heard, place, secret)

    async def _send_link(self, heard: Heard, place: Place, secret: InUse) -> None:
        desk, texts = self._desk, self._desk.manner.texts
        direct = await self._direct(heard)
        if direct is None:
            await desk.answer(heard, texts("said.secret.no_direct"))
            return
        keeping, token = kept(desk), token_urlsafe(32)
        link = FormLink(place, heard.person, secret, desk.clock.now() + LASTS_S)
        shown = texts(
            "said.secret.link",
            name=secret.name,
            room=place.room,
            url=f"{keeping.public_url.rstrip('/')}{PATH}?k={token}",
            minutes=f"{LASTS_S / 60:g}",
        )
        note = Note(direct, f"secret-form:{heard.id}", shown, only_for=heard.person)
        here = (await desk.where(heard)).session
        if direct == here:
            answer = Answer((note,), (heard.id,))
        else:
            sent = texts("said.secret.sent", name=secret.name)
            answer = await desk.reply(heard, sent, note, is_public=False)
        await keeping.uses.open_link(hash_of(token), link, answer)
        desk.posted()

    async def _direct(self, heard: Heard) -> str | None:
        """The session in which nobody but them reads; None where none is known."""
        desk, place = self._desk, room_of(heard.message.place)
        if place.network == "console" or await desk.allow_list.members.is_direct(place):
            return (await desk.where(heard)).session
        for other in await kept(desk).uses.rooms_of(heard.person):
            is_theirs = await desk.allow_list.members.is_member(other, heard.message.speaker)
            if is_theirs and await desk.allow_list.members.is_direct(other):
                return (await desk.rooms.begin(other)).session
        return None

    def _wrong(self, words: SecretWords) -> str:
        texts = self._desk.manner.texts
        variable = words.in_use.variable
        return texts(words.wrong, name=words.name, variable=variable, most=HOSTS_MOST)


def kept(desk: Desk) -> Keeping:
    """What secrets are kept with. Raises Refused: they are not."""
    if desk.secrets is None:
        raise Refused(desk.manner.texts("refused.no_secrets"), code="no_secrets")
    return desk.secrets


async def readable(desk: Desk, place: Place) -> str:
    """Which secrets the agent can read in a room; empty: none."""
    if desk.secrets is None:
        return ""
    uses = await desk.secrets.uses.of(room_of(place))
    names = [f"`{use.secret.name}`" for use in uses if use.secret.mode == "given"]
    texts = desk.manner.texts
    return texts("said.secrets.readable", names=texts("list_of").join(names)) if names else ""


def hash_of(token: str) -> str:
    """What is kept of a link."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def as_words(secret: InUse) -> str:
    """The secret as the words behind the verb say it."""
    given = ["given"] if secret.mode == "given" else []
    return " ".join((secret.name, *secret.hosts, *given, "as", secret.variable))


def listed(uses: Sequence[Use], texts: Texts) -> str:
    """A room's secrets, and which of them the agent can read."""
    if not uses:
        return texts("said.secrets.none")
    lines = [line_of(use.secret, texts) for use in uses]
    return "\n".join((texts("said.secrets.head"), *lines, texts("said.secrets.foot")))


def line_of(secret: InUse, texts: Texts) -> str:
    """One of them."""
    key = "said.secrets.given" if secret.mode == "given" else "said.secrets.line"
    hosts = texts("list_of").join(secret.hosts) or texts("said.secrets.nowhere")
    return texts(key, name=secret.name, variable=secret.variable, hosts=hosts)


def kept_text(secret: InUse, by: str, texts: Texts) -> str:
    """What a room is told of a secret that it has from now on."""
    key = "said.secret.kept.given" if secret.mode == "given" else "said.secret.kept"
    hosts = texts("list_of").join(secret.hosts)
    return texts(key, name=secret.name, by=by, variable=secret.variable, hosts=hosts)


def _as_said(words: SecretWords, known: InUse | None) -> InUse:
    """The secret as it shall be: where the words leave something out, as the room has it."""
    said = words.in_use
    if known is None or words.hosts or words.is_given:
        return said
    return replace(known, variable=words.variable or known.variable)
