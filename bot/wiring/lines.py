"""What goals reach by way of the proxy, and the forms in which secrets are typed."""

from collections.abc import Callable
from typing import Final

from adapters.forms.secret import SecretPage
from bot.agent.reach import FOLLOW_S, Lines, NoLines, Reaching
from bot.chat.allow_list import AllowList
from bot.chat.desk import Desk
from bot.chat.left_out import without_suspects
from bot.chat.secret_commands import PATH
from bot.chat.secret_forms import Links, SealedForms
from bot.wiring.ground import Ground
from bot.wiring.room_rules import by_default

SWEPT_S: Final = 3_600.0
ENTERED_S: Final = 86_400.0
"""How long what was typed waits at most for its form to be handled."""


def build_lines(ground: Ground, allow_list: AllowList) -> Lines:
    """What goals reach the network by."""
    if ground.gateway is None:
        return NoLines()
    settings, store = ground.settings, ground.store
    lines = Reaching(
        ground.gateway,
        store.journal,
        store.permissions,
        store.secret_uses,
        allow_list.settings,
        by_default(settings),
        settings.hosts,
    )
    ground.alarms.add("reach", lines.follow, FOLLOW_S)
    return lines


def written_down(ground: Ground) -> Callable[[str], str]:
    """What people say at the console, as its room's file has it: without what is secret, or looks so."""
    texts = ground.manner.texts
    return lambda text: without_suspects(ground.redactor.text(text), texts)[0]


def build_forms(ground: Ground) -> SealedForms:
    """What takes values out of forms; what came to nothing is swept."""
    forms = SealedForms(ground.store.secrets, ground.redactor)

    async def sweep() -> None:
        await forms.sweep(ground.clock.now() - ENTERED_S)

    ground.alarms.add("entered", sweep, SWEPT_S)
    return forms


def serve_forms(ground: Ground, desk: Desk) -> None:
    """Open the doors of the form behind a link, where there is an address for it."""
    doors = ground.watch.doors
    if doors is None or desk.secrets is None or not desk.secrets.public_url:
        return
    page = SecretPage(Links(desk, ground.redactor.learn))
    doors.open("GET", PATH, page.show)
    doors.open("POST", PATH, page.take)
