"""
An older process beside a newer one: where the database has moved on, it ends its work and itself.

Rule: only on a database that several processes share. Whoever migrates asks nobody; those that do
not know the new schema see it within seconds, let running steps end, and exit with 74.
"""

import asyncio
import logging
from typing import Final

from adapters.store.open import Store
from bot.errors import HeadwayError, StoreUnusable

log = logging.getLogger(__name__)

LOOK_S: Final = 2.0


def version_watch(store: Store, *, is_shared: bool) -> "tuple[asyncio.Task[None], ...]":
    """A part that ends, with the reason, once the database is newer than this program."""
    if not is_shared:
        return ()
    return (asyncio.create_task(until_newer(store), name="version"),)


async def until_newer(store: Store, look_s: float = LOOK_S) -> None:
    """Look every `look_s` seconds, until there is something to say.

    Raises:
        StoreUnusable: the database has been brought to a newer schema.
    """
    while True:
        try:
            found = await store.version.newer()
        except HeadwayError as error:
            log.info("The schema's version cannot be read: %s", error)
            found = None
        if found is not None:
            raise StoreUnusable(
                f"A newer Headway has brought the database to schema {found}: this one ends, and "
                "its goals go on there. Install the newer one here, too."
            )
        await asyncio.sleep(look_s)
