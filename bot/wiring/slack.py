"""Slack, for a process whose settings name an app. Loads slack_sdk."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from adapters.slack.connection import Kept, Sentences, SlackChat
from adapters.slack.ear import Prompts
from adapters.slack.listening import Manner as Heard
from adapters.slack.listening import Way
from adapters.slack.render import Words
from adapters.slack.views import Words as ViewWords
from bot.chat.allow_list import AllowList
from bot.chat.texts import Texts
from bot.errors import HeadwayError
from bot.ports.attached import not_taken
from bot.ports.chat import Place, Speaker
from bot.ports.windows import Windows
from bot.wiring.charge import RENEW_S, Keeper, while_held
from bot.wiring.ground import Ground
from bot.wiring.slack_app import check_usable, open_doors, tokens_of
from bot.wiring.slack_desk import SlackSight, TokenWatch

log = logging.getLogger(__name__)

APP: Final = "slack"
"""What the charge is called: the processes of a database serve one app."""
TOKENS_S: Final = 60.0


@dataclass(slots=True)
class Slack:
    """The app of a process, and who keeps its charge."""

    chat: SlackChat
    keeper: Keeper
    sight: SlackSight

    def allowed(self, allow_list: AllowList) -> None:
        """Go by this list."""

        async def is_heard(place: Place, speaker: Speaker) -> bool:
            return bool(await allow_list.roles(place, speaker))

        async def is_listed(place: Place, speaker: Speaker) -> bool:
            return allow_list.knows("slack", speaker)

        async def gone(workspace: str, speaker: Speaker) -> None:
            await allow_list.gone(Place("slack", workspace, ""), speaker)

        async def back(workspace: str, speaker: Speaker) -> None:
            if ("slack", speaker.id) in allow_list.register.gone:
                await allow_list.gone(Place("slack", workspace, ""), speaker, is_gone=False)

        self._wish(is_heard=is_heard, is_listed=is_listed, gone=gone, back=back)

    def shows(
        self, windows: Windows, looks: Callable[[str, Speaker, int], Awaitable[None]]
    ) -> None:
        """Show these windows; `looks` is told of whoever looks at a page of their home."""
        self._wish(windows=windows, looks=looks)

    def tells(self, heard: Callable[[], None], trouble: Callable[[str], None]) -> None:
        """Tell of each sign of life, and of why there is none."""
        self._wish(heard=heard, trouble=trouble)

    async def close(self) -> None:
        """Give the charge up, and close the connections; nothing is sent any more."""
        await self.keeper.leave()
        await self.chat.close()

    def _wish(self, **wishes: Any) -> None:
        self.chat.wishes = replace(self.chat.wishes, **wishes)


def build_slack(ground: Ground) -> Slack:
    """The app's end of Slack; it says and asks nothing yet.

    Raises:
        BadSettings: something that the app needs is not set.
    """
    settings, names, store = ground.settings, ground.names, ground.store
    check_usable(settings)
    charge, texts = names.charge, ground.manner.texts
    keeper = Keeper(
        charge, store.installs, ground.clock,
        app=APP, holder=names.console, taken=partial(store.outbox.void, "slack", None),
    )  # fmt: skip

    async def serving(serve: Callable[[], Awaitable[None]], idle: Callable[[], None]) -> None:
        if names.is_shared:
            with suppress(HeadwayError):
                await keeper.renew()
        await while_held(charge, ground.clock, serve, idle)

    if names.is_shared:
        ground.alarms.add("charge.slack", keeper.renew, RENEW_S)
    tokens = tokens_of(settings, store.installs, ground.redactor, ground.clock)
    chat = SlackChat(
        Kept(
            tokens, store.ways_back, ground.files, ground.clock, settings.slack_api_url, serving,
            lambda: charge.is_held,
        ),
        sentences(texts),
        Way(settings.slack_mode, settings.slack_app_token.get_secret_value()),
    )  # fmt: skip
    open_doors(
        ground.watch.doors, settings, chat.dispatch, tokens, store.installs,
        texts=texts, redactor=ground.redactor, clock=ground.clock,
        is_served=lambda: charge.is_held,
    )  # fmt: skip
    sight = SlackSight(lambda: tokens.troubles, chat.subscribed.last, lambda: chat.others)
    watch = TokenWatch(sight, ground.watches.operations, charge)
    ground.alarms.add("tokens.slack", watch.look, TOKENS_S)
    return Slack(chat, keeper, sight)


def sentences(texts: Texts) -> Sentences:
    """What Slack says by itself, from the catalogue."""
    file = "{name}"
    return Sentences(
        post=Words(
            texts("network.whole", name=file), texts("network.origin"),
            texts("network.lost", name=file),
        ),
        hear=Heard(
            ViewWords(
                loading=texts("view.loading"),
                failed=texts("view.failed"),
                title=texts("view.title"),
                close=texts("window.close"),
                later=texts("view.later"),
                earlier=texts("view.earlier"),
                page=texts("view.page", page="{page}", pages="{pages}"),
                thread=texts("view.thread"),
            ),
            texts("app.not_there"),
        ),
        working=texts("app.working"),
        unfetched=not_taken,
        prompts=Prompts(
            texts("app.prompts"),
            tuple((texts(f"app.prompt.{n}"), texts(f"app.prompt.{n}.said")) for n in range(1, 4)),
        ),
    )  # fmt: skip
