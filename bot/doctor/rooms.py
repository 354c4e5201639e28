"""Checks of rooms and people: whether incidents reach anybody, and whether the list lets anybody in."""

import asyncio

from bot.doctor.finding import warning, wrong
from bot.errors import HeadwayError
from bot.ports.people import Register
from bot.settings import Settings
from bot.wiring import reading
from bot.wiring.names import half_slack, names_of
from bot.wiring.operations import room_of


def reached(settings: Settings) -> str:
    """Whether the operations room is one of a network that is served.

    Raises:
        BadSettings: it is written otherwise than NETWORK:ROOM.
    """
    names = names_of(settings)
    room = room_of(settings.operations_room, names)
    if room is None:
        return "no operations room: incidents are told in the log alone"
    if room.network not in names.networks:
        raise wrong(
            f"operations_room is {settings.operations_room}, and {room.network} is not connected: "
            "incidents reach nobody. Connect it, or set operations_room to console:console."
        )
    return f"incidents are told in {settings.operations_room}"


def people(settings: Settings) -> str:
    """Whether each entry of the allow-list can match somebody."""
    try:
        register = asyncio.run(_register(settings))
    except HeadwayError:
        # What is wrong with the database, its own check says.
        return "not read: there is no database yet, or it comes first"
    entries, served = register.entries, names_of(settings).networks
    nobody = [
        entry.subject.name or entry.subject.id
        for entry in entries
        if entry.subject.network not in served
        or (entry.subject.network, entry.subject.id) in register.gone
    ]
    if nobody:
        names = ", ".join(dict.fromkeys(nobody))
        raise warning(
            f"The allow-list names who can match nobody: {names}. Their network is not connected, or "
            "they have left. Remove them: `headway allow remove`."
        )
    return f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}, and the operator"


def no_matrix(settings: Settings) -> str:
    """What is said of Matrix where nobody set it up."""
    if settings.matrix_homeserver or settings.matrix_user:
        raise warning(
            "Matrix has settings, and too few for a login: give matrix_homeserver, matrix_user, and "
            "matrix_password or matrix_token; or run `headway matrix login`."
        )
    return "not set up; `headway matrix login` does"


def no_slack(settings: Settings) -> str:
    """What is said of Slack where no app is named."""
    if told := half_slack(settings):
        raise warning(told)
    return "not set up; `headway init` does"


async def _register(settings: Settings) -> Register:
    async with reading(settings) as store:
        return await store.people.register()
