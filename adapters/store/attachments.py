"""
Files of messages, as rows; their bytes lie elsewhere, under their hash.

Rule: a row goes when the text of its message goes. Bytes that no row names any more may be deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.readers import Readers
from adapters.store.statements import Reader, Writes
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from bot.goals.events import FileShared
from bot.goals.goal import Goal
from bot.goals.machine import Entry
from bot.ports.chat import Attachment

_A: Final = METADATA.tables["attachment"]
_I, _S = queries.INBOX, queries.SESSION

_ADD: Final = queries.into(_A).on_conflict_do_nothing()
_OF_GROUP: Final = (
    select(_A.c.owner, _A.c.name, _A.c.media_type, _A.c.size, _A.c.hash)
    .where(queries.among(_A.c.owner))
    .order_by(_A.c.owner, _A.c.number)
)
_DROP: Final = delete(_A).where(_A.c.owner == bindparam("of_owner"))
_NAMED: Final = select(_A.c.hash).distinct()
_CAME: Final = (
    select(_A.c.owner, _A.c.name, _A.c.media_type, _A.c.size, _A.c.hash)
    .join(_I, _I.c.id == _A.c.owner)
    .join(_S, _S.c.room == _I.c.room)
    .where(_S.c.id == bindparam("of_session"), queries.among(_A.c.name))
    .order_by(_I.c.sequence, _A.c.number)
)
_OF_GOAL: Final = (
    select(_A.c.name, _A.c.media_type, _A.c.size, _A.c.hash)
    .join(queries.OUTBOX, queries.OUTBOX.c.key == _A.c.owner)
    .where(queries.OUTBOX.c.goal == bindparam("of_goal"))
    .order_by(queries.OUTBOX.c.sequence, _A.c.number)
)


class StoreAttachments:
    """Port Attachments."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    async def came(
        self, session: str, names: Sequence[str]
    ) -> Mapping[str, tuple[Attachment, ...]]:
        """The files of these names that came in a session's room, by the message that brought them."""

        def query(reader: Reader) -> Mapping[str, tuple[Attachment, ...]]:
            found: dict[str, list[Attachment]] = {}
            for group in queries.groups(sorted(set(names))):
                for owner, *of in reader.all(_CAME, of_session=session, **group):
                    found.setdefault(owner, []).append(Attachment(*of))
            return {owner: tuple(files) for owner, files in found.items()}

        return await self._readers.do(query)

    async def of_goal(self, goal: str) -> tuple[Attachment, ...]:
        """The files that a goal has shared, in their order."""
        rows = await self._readers.glance(lambda reader: reader.all(_OF_GOAL, of_goal=goal))
        return tuple(Attachment(*row) for row in rows)

    async def named(self) -> frozenset[str]:
        """The hashes of all files that anything names."""
        rows = await self._readers.do(lambda reader: reader.all(_NAMED))
        return frozenset(row[0] for row in rows)


def write_files(tx: Transaction, owner: str, files: Iterable[Attachment], at: float) -> None:
    """The files of a message, in their order."""
    for number, one in enumerate(files):
        tx.run(
            _ADD, owner=owner, number=number, name=one.name, media_type=one.media_type,
            size=one.size, hash=one.hash, at=at,
        )  # fmt: skip


def write_shared(
    writes: Writes, moved: Iterable[tuple[Goal, Entry]], files: Iterable[Attachment], at: float
) -> None:
    """The files that events share, under the keys of the posts that bring them."""
    by_hash = {file.hash: file for file in files}
    for goal, entry in moved:
        if isinstance(entry.event, FileShared):
            one = by_hash[entry.event.file]
            writes.add(
                _ADD, owner=f"{goal.id}:file:{entry.seq}", number=0, name=one.name,
                media_type=one.media_type, size=one.size, hash=one.hash, at=at,
            )  # fmt: skip


def read_files(reader: Reader, owners: Sequence[str]) -> Mapping[str, tuple[Attachment, ...]]:
    """The files of those messages, by message; those without any are left out."""
    found: dict[str, list[Attachment]] = {}
    for group in queries.groups(owners):
        for owner, *of in reader.all(_OF_GROUP, **group):
            found.setdefault(owner, []).append(Attachment(*of))
    return {owner: tuple(files) for owner, files in found.items()}


def drop_files(tx: Transaction, owners: Iterable[str]) -> int:
    """Forget the files of those messages; returns how many there were."""
    return sum(tx.run(_DROP, of_owner=owner) for owner in owners)
