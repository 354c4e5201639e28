"""`deploy/demo slack`: a Slack on this machine with its page in the browser, and the bot on the rehearsed
model. Its rules are those of `tests.demos.stage`."""

import html
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.markup import escape

from tests.demos.stage import Bot, Failed, console, ending, headway, play, tell
from tests.peers import beds
from tests.peers.localslack import APP_TOKEN, BOT_TOKEN, TEAM
from tests.peers.slack_front import SlackFront, slack

ABOUT: Final = (
    "A Slack with its page in the browser, and the bot on a rehearsed model, on this machine alone; "
    "Ctrl-C ends and removes all of it."
)
FIRST: Final = "/goal write a haiku about tides into tides.txt"
CHANNEL: Final = "C01GEN"
PERSON: Final = "U01ALICE"
PEOPLE: Final = (
    (f"{TEAM}:{PERSON}", "admin", "--network", "slack"),
    (f"{TEAM}:U02BOB", "approver", "--network", "slack"),
)
DONE_S: Final = 90.0


def shown(stack: ExitStack, *, is_check: bool) -> int:
    """Play it until Ctrl-C, or one goal of it."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-slack-")))
    beds.say("Starting a Slack (local-slack) ...")
    front = stack.enter_context(slack())
    beds.say("Starting Headway ...")
    network = {
        "slack_bot_token": BOT_TOKEN,
        "slack_app_token": APP_TOKEN,
        "slack_api_url": front.api_url,
    }
    bot = stack.enter_context(headway(folder, network, PEOPLE))
    bot.until(front.is_heard, "The bot has not connected")
    if is_check:
        return _checked(front, bot)
    tell(
        "Headway in Slack",
        f"Open    [bold cyan]{front.url}[/] (you are Alice, in [bold]#general[/])",
        f"Type    [bold green]{FIRST}[/]",
        "",
        "The bot answers in a thread under a message of its own. Its home is under Apps.",
        "The model is rehearsed: nothing is sent or charged.",
        ending(bot.process.pid),
    )
    bot.stay()
    return 0


def _checked(front: SlackFront, bot: Bot) -> int:
    """One goal from command to answer, as a person sees it."""
    name, _, objective = FIRST.partition(" ")
    front.command(PERSON, CHANNEL, objective, name)
    console.print(f"[bold]alice[/]  {FIRST}", soft_wrap=True)

    def answer() -> str:
        posts = (
            html.unescape(post["text"]) for post in front.posts(CHANNEL) if "thread_ts" in post
        )
        return next((text for text in posts if "✅" in text), "")

    bot.until(lambda: bool(answer()), "The goal did not end", DONE_S)
    if front.violations:
        raise Failed(f"Slack would not have taken all of it: {front.violations}")
    console.print(f"[bold]headway[/], in the thread under it:\n{escape(answer())}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(play("slack", ABOUT, shown))
