"""Matrix, for a process that has an account there. Loads nio."""

from dataclasses import replace
from functools import partial

from adapters.matrix.connection import Kept, MatrixChat
from adapters.matrix.listening import Wishes
from adapters.matrix.render import Words
from adapters.store.open import Store
from bot.chat.allow_list import AllowList
from bot.chat.facts import Manner
from bot.ports.attached import not_taken
from bot.ports.chat import Place, Speaker
from bot.ports.clock import Clock
from bot.ports.files import Files
from bot.redaction import Redactor
from bot.settings import Settings
from bot.wiring.keys import matrix_account
from bot.wiring.matrix_account import first_of, is_first_secret, ways_of
from bot.wiring.networks import Hearing


class Doorkeeper:
    """What the allow-list says of people on Matrix; it is known once the process is built."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.allow_list: AllowList | None = None

    def allowed(self, allow_list: AllowList) -> None:
        """Go by this list."""
        self.allow_list = allow_list

    async def may_invite(self, speaker: Speaker) -> bool:
        """Whether the bot follows them into a room: who is on the list, anywhere."""
        return self.allow_list is not None and self.allow_list.knows("matrix", speaker)

    async def may_verify(self, user_id: str) -> bool:
        """Whether a verification that they ask for is completed."""
        return await self.may_invite(Speaker(user_id, user_id))

    async def is_heard(self, place: Place, speaker: Speaker) -> bool:
        """Whether their files are fetched: who has a role there."""
        return self.allow_list is not None and bool(await self.allow_list.roles(place, speaker))

    async def is_claim_open(self) -> bool:
        """Whether somebody may become the first admin."""
        return await self._store.doors.is_claim_open()


def build_matrix(
    settings: Settings,
    user_id: str,
    store: Store,
    files: Files,
    clock: Clock,
    redactor: Redactor,
    manner: Manner,
    door: Doorkeeper,
) -> MatrixChat:
    """The account's end of Matrix; it says and asks nothing yet."""
    texts = manner.texts
    kept = Kept(
        matrix_account(settings), ways_of(settings, redactor), first_of(settings),
        store.positions, files, clock,
    )  # fmt: skip
    file = "{name}"
    words = Words(
        texts("network.whole", name=file), texts("network.origin"),
        texts("network.lost", name=file), texts("network.reacts"), texts("network.says"),
        texts("network.freely"), texts("network.openly"),
    )  # fmt: skip
    wishes = Wishes(
        may_invite=door.may_invite,
        is_claim_open=door.is_claim_open,
        is_heard=door.is_heard,
        unfetched=not_taken,
        tell_unreadable=partial(_tell_unreadable, store, manner),
    )
    return MatrixChat(
        user_id, kept, words, wishes, door.may_verify,
        is_first_secret=partial(is_first_secret, settings),
    )  # fmt: skip


def tells(chat: MatrixChat, hearing: Hearing) -> None:
    """Tell `hearing` of each sign of life, and of why there is none."""
    chat.wishes = replace(chat.wishes, heard=hearing.heard, trouble=hearing.troubled)


async def _tell_unreadable(
    store: Store, manner: Manner, place: Place, speaker: Speaker, key: str
) -> None:
    """Queue the notice under its key: once, however often it is asked for."""
    thread = await store.rooms.begin(place)
    text = manner.texts("network.unreadable", name=speaker.name)
    await store.outbox.say(thread.session, f"unreadable:{key}", text)
