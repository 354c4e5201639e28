"""
Files of messages, as rows; their bytes lie elsewhere, under their hash.

Rule: a row goes when the text of its message goes. Bytes that no row names any more may be deleted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import bindparam, delete, select

from adapters.store import queries
from adapters.store.statements import Reader
from adapters.store.tables import METADATA
from adapters.store.transaction import Transaction
from bot.ports.chat import Attachment

_A: Final = METADATA.tables["attachment"]

_ADD: Final = queries.into(_A).on_conflict_do_nothing()
_OF_GROUP: Final = (
    select(_A.c.owner, _A.c.name, _A.c.media_type, _A.c.size, _A.c.hash)
    .where(queries.among(_A.c.owner))
    .order_by(_A.c.owner, _A.c.number)
)
_DROP: Final = delete(_A).where(_A.c.owner == bindparam("of_owner"))


def write_files(tx: Transaction, owner: str, files: Iterable[Attachment], at: float) -> None:
    """The files of a message, in their order."""
    for number, one in enumerate(files):
        tx.run(
            _ADD, owner=owner, number=number, name=one.name, media_type=one.media_type,
            size=one.size, hash=one.hash, at=at,
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
