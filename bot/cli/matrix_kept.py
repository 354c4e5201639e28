"""What the walk of `headway matrix login` looks up: in what is kept here, and in an answer itself."""

import asyncio

from bot.errors import BadInput, ByOperator, HeadwayError
from bot.ports.people import Register
from bot.settings import Settings
from bot.wiring import reading


async def live_goals(settings: Settings, user_id: str) -> int:
    """How many goals live in rooms of this user's."""
    try:
        async with reading(settings) as store:
            rows = await store.records.goals(with_asks=True)
    except ByOperator:
        return 0
    return sum(
        row.place.network == "matrix" and row.place.workspace == user_id and not row.goal.is_final
        for row in rows
    )


def has_admin(settings: Settings) -> bool:
    """Whether an admin of Matrix is on the list."""
    try:
        register = asyncio.run(_register(settings))
    except HeadwayError:
        return False
    return any(
        entry.subject.network == "matrix" and entry.role == "admin" and entry.room is None
        for entry in register.entries
    )


def full_id(text: str) -> str:
    """A person's full id. Raises BadInput."""
    localpart, colon, server = text.strip().partition(":")
    if not (localpart.startswith("@") and len(localpart) > 1 and colon and server):
        raise BadInput(f"{text!r} is no full Matrix id. Give one such as @you:example.org.")
    return f"{localpart}{colon}{server}"


def is_same(user: str, user_id: str) -> bool:
    """Whether `user`, a full id or a localpart, is this user."""
    return user in (user_id, user_id.removeprefix("@").partition(":")[0])


async def _register(settings: Settings) -> Register:
    async with reading(settings) as store:
        return await store.people.register()
