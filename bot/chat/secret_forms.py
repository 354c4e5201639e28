"""
The forms in which values are typed: a window of a network that has such, a page behind a link.

Rule 1: a value is sealed before anything of the form is stored, and stands in nothing else.
Rule 2: rights count when the value comes, whatever was shown.
"""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Final

from bot.chat.desk import Desk
from bot.chat.heard import Heard
from bot.chat.pressed import About, refusal, refuse
from bot.chat.rights import Act, may
from bot.chat.room_forms import room_of
from bot.chat.secret_commands import as_words, hash_of, kept, kept_text
from bot.chat.secret_words import read_secret
from bot.chat.texts import Texts
from bot.errors import BadInput, Refused, SecretsUnusable
from bot.ports.chat import Incoming
from bot.ports.gateway import InUse
from bot.ports.people import Answer, Note
from bot.ports.secret_form import MOST, VALUE
from bot.ports.secret_uses import FormLink, Value
from bot.ports.secrets import Secrets
from bot.ports.windows import Input, Window
from bot.redaction import LEAST, Redactor

SECRET: Final = "secret"
"""Name of what the form carries along: the words behind the verb."""
ACT: Final = "secret"
WINDOW_MOST: Final = 3_000
"""What a form's input takes."""
_ENTERED: Final = "entered-"
_UNSEALED: Final = "unsealed"


class SecretForms:
    """The window, its checks, and what it does."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def window(self, found: About) -> Window:
        """The form. Raises Refused."""
        refuse(self._desk, replace(found, goal=None), Act.SECRETS)
        texts, place = self._desk.manner.texts, room_of(found.message.place)
        secret = named(found.message.text.partition(" ")[2], texts)
        is_given = secret.mode == "given"
        key = "window.secret.hint.given" if is_given else "window.secret.hint"
        hint = texts(key, hosts=texts("list_of").join(secret.hosts))
        label = texts("window.secret.value", name=secret.name)
        return Window(
            texts("window.secret"),
            "secret",
            place,
            found.message.reply_to,
            inputs=(Input(VALUE, label, "words", most=WINDOW_MOST, hint=hint),),
            fixed=((SECRET, as_words(secret)),),
            submit=texts("window.secret.keep"),
            close=texts("window.cancel"),
        )

    async def wrong(self, found: About) -> dict[str, str]:
        """What is wrong with the form."""
        texts, form = self._desk.manner.texts, dict(found.message.form)
        if why := refusal(self._desk, replace(found, goal=None), Act.SECRETS):
            return {VALUE: why}
        try:
            secret = named(form.get(SECRET, ""), texts)
            checked(form.get(VALUE, ""), texts)
            await _refuse_others(self._desk, found.message, secret)
        except (BadInput, Refused) as error:
            return {VALUE: str(error)}
        return {}

    async def handle(self, heard: Heard) -> None:
        """Keep what was sealed as the form came. Raises BadInput, Refused, and as the store does."""
        desk, texts, form = self._desk, self._desk.manner.texts, dict(heard.message.form)
        secret, place = named(form.get(SECRET, ""), texts), room_of(heard.message.place)
        is_chief = await desk.allow_list.is_chief(place, heard.message.speaker)
        if form.get(VALUE, "") in ("", _UNSEALED):
            raise Refused(texts("refused.secrets_unusable"), code="secrets_unusable")
        told = kept_text(secret, heard.message.speaker.name, texts)
        session = (await desk.rooms.begin(place)).session
        answer = Answer((Note(session, f"reply:{heard.id}", told),), (heard.id,))
        value = Value(entered=form[VALUE])
        try:
            await kept(desk).uses.keep(
                place, secret, value, by=heard.person, is_chief=is_chief, answer=answer
            )
        except KeyError:
            raise BadInput(texts("said.secret.lost", name=secret.name)) from None
        desk.posted()


class Links:
    """Forms behind links, for whoever serves them."""

    def __init__(self, desk: Desk, learn: Callable[[str, str], object]) -> None:
        """`learn`: told of a value before it goes anywhere."""
        self._desk, self._learn = desk, learn
        self._texts = desk.manner.texts

    @property
    def language(self) -> str:
        """Of the page."""
        return self._texts.language

    def say(self, key: str, **values: object) -> str:
        """A sentence of the page."""
        return self._texts(f"page.secret.{key}", **values)

    def hosts(self, secret: InUse) -> str:
        """Where a secret may go, as it is read."""
        return self._texts("list_of").join(secret.hosts)

    async def open(self, token: str) -> FormLink | None:
        """The form of a link, where it works still and whoever has it may do what it does."""
        link = await kept(self._desk).uses.link(hash_of(token)) if token else None
        return link if link is not None and await self._may(link) else None

    async def take(self, token: str, value: str) -> bool:
        """Keep a value that was typed; False where the link does not work any more.

        Raises:
            BadInput: it is none; the link still works.
        """
        link = await self.open(token)
        if link is None:
            return False
        desk, secret = self._desk, link.secret
        text = checked(value, self._texts)
        self._learn(secret.name, text)
        people = await desk.rooms.people((link.person,))
        by = people[link.person].name if link.person in people else self._texts("somebody")
        session = (await desk.rooms.begin(link.room)).session
        note = Note(session, f"secret-kept:{hash_of(token)}", kept_text(secret, by, self._texts))
        keep = kept(desk).uses.keep
        is_kept = await keep(
            link.room, secret, Value(text, link=hash_of(token)), by=link.person,
            is_chief=await desk.allow_list.is_chief_by_id(link.room, link.person),
            answer=Answer((note,)),
        )  # fmt: skip
        desk.posted()
        return is_kept

    async def _may(self, link: FormLink) -> bool:
        who = (await self._desk.rooms.people((link.person,))).get(link.person)
        if who is None:
            return False
        roles = await self._desk.allow_list.roles(link.room, who)
        room = self._desk.allow_list.settings(link.room)
        if not may(Act.SECRETS, roles, is_owner=False, room=room):
            return False
        is_others = await kept(self._desk).uses.elsewhere(link.room, link.secret.name) is not None
        return not is_others or await self._desk.allow_list.is_chief(link.room, who)


class SealedForms:
    """Takes a value out of a form before the form is stored."""

    def __init__(self, secrets: Secrets, redactor: Redactor) -> None:
        self._secrets, self._redactor = secrets, redactor

    async def without_value(self, filled: Incoming) -> Incoming:
        """The form with the name under which its value is sealed. Raises as the store does.

        Given again, it is the same name: whoever was killed in between has sealed it twice in one row.
        """
        form = dict(filled.form)
        if filled.act != ACT or VALUE not in form:
            return filled
        secret, value = read_secret(form.get(SECRET, "")), form[VALUE].strip("\r\n")
        form[VALUE] = ""
        if value and secret is not None and secret.name:
            self._redactor.learn(secret.name, value)
            form[VALUE] = await self._sealed(filled, value)
        return replace(filled, form=tuple(form.items()))

    async def sweep(self, before: float) -> int:
        """Forget values whose forms came to nothing: those that were sealed before then."""
        old = [
            one.name
            for one in await self._secrets.names()
            if one.kind == "secret" and one.name.startswith(_ENTERED) and one.set_at < before
        ]
        for name in old:
            await self._secrets.remove("secret", name)
        return len(old)

    async def _sealed(self, filled: Incoming, value: str) -> str:
        name = f"{_ENTERED}{sha256(filled.id.encode()).hexdigest()[:24]}"
        try:
            await self._secrets.put("secret", name, value)
        except SecretsUnusable:
            return _UNSEALED
        return name


def named(words: str, texts: Texts) -> InUse:
    """The secret that the words behind the verb name. Raises BadInput."""
    found = read_secret(words)
    if found is None or found.do != "keep" or found.wrong:
        raise BadInput(texts("window.unknown"))
    return found.in_use


def checked(value: str, texts: Texts) -> str:
    """A value that can be kept. Raises BadInput."""
    text = value.strip("\r\n")
    if not text.strip():
        raise BadInput(texts("bad.secret.none"))
    if len("".join(text.split())) < LEAST:
        raise BadInput(texts("bad.secret.short", least=LEAST))
    if len(text) > MOST:
        raise BadInput(texts("bad.secret.long", most=f"{MOST:,}"))
    return text


async def _refuse_others(desk: Desk, message: Incoming, secret: InUse) -> None:
    """Raise Refused where a secret of that name is others', too."""
    is_others = await kept(desk).uses.elsewhere(room_of(message.place), secret.name) is not None
    if is_others and not await desk.allow_list.is_chief(message.place, message.speaker):
        raise Refused(desk.manner.texts("refused.secret_elsewhere"), code="secret_elsewhere")
