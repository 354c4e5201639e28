"""`deploy/demo matrix`: a homeserver, a client in the browser, and the bot on the rehearsed model. Its rules
are those of `tests.demos.stage`."""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from rich.markup import escape

from tests.demos.stage import Bot, console, ending, headway, play, tell
from tests.peers import beds, hydrogen
from tests.peers.synapse import Account, Synapse, private_synapse

ABOUT: Final = (
    "A homeserver, a client in the browser, and the bot on a rehearsed model, on this machine alone; "
    "Ctrl-C ends and removes all of it."
)
FIRST: Final = "!goal write a haiku about tides into tides.txt"
ROOM: Final = "Tides"
PASSWORD: Final = "tides"
PEOPLE: Final = (("@ann:localhost", "admin"),)
DONE_S: Final = 90.0


def shown(stack: ExitStack, *, is_check: bool) -> int:
    """Play it until Ctrl-C, or one goal of it."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-matrix-")))
    beds.say("Starting a homeserver (Synapse) ...")
    server = stack.enter_context(private_synapse())
    account = server.register("headway", exact=True)
    ann = server.register("ann", password=PASSWORD, exact=True)
    page = "" if is_check else _client(stack)
    beds.say("Starting Headway ...")
    network = {
        "matrix_homeserver": server.url,
        "matrix_user": account.user_id,
        "matrix_password": account.password,
    }
    bot = stack.enter_context(headway(folder, network, PEOPLE))
    room = _room(server, ann, account)
    bot.until(lambda: _is_in(server, ann, room, account), "The bot has not come")
    if is_check:
        return _checked(server, ann, room, bot)
    _tell(server, page, bot.process.pid)
    bot.stay()
    return 0


def _client(stack: ExitStack) -> str:
    """The address of a client's page; empty where none can be built here."""
    beds.say("Building a client for the browser (Hydrogen) ...")
    try:
        return stack.enter_context(hydrogen.page())
    except (RuntimeError, AssertionError, OSError) as error:
        beds.say(f"There is no client: {error}")
        return ""


def _room(server: Synapse, ann: Account, bot: Account) -> str:
    wish = {"name": ROOM, "preset": "private_chat", "invite": [bot.user_id]}
    made = server.done("POST", "/_matrix/client/v3/createRoom", wish, ann.token)
    return str(made["room_id"])


def _is_in(server: Synapse, ann: Account, room: str, bot: Account) -> bool:
    path = f"/_matrix/client/v3/rooms/{quote(room)}/joined_members"
    return bot.user_id in server.done("GET", path, token=ann.token)["joined"]


def _tell(server: Synapse, page: str, pid: int) -> None:
    link = f"{page}?{urlencode({'homeserver': server.url})}#/login" if page else ""
    where = (
        f"Open    [bold cyan]{link}[/]"
        if link
        else f"Open    any Matrix client, with the homeserver [bold cyan]{server.url}[/]\n"
        "        (above it says why there is none in the browser)"
    )
    tell(
        "Headway on Matrix",
        where,
        f"Log in  as [bold]ann[/], password [bold]{PASSWORD}[/], and open the room [bold]{ROOM}[/]",
        f"Type    [bold green]{FIRST}[/]",
        "",
        "The bot answers in the thread under it. The model is rehearsed: nothing is sent or charged.",
        ending(pid),
    )
    if link and console.is_terminal:
        # In the frame it may be broken.
        console.print(link, style="cyan", soft_wrap=True)


def _checked(server: Synapse, ann: Account, room: str, bot: Bot) -> int:
    """One goal from message to answer, as a person's client sees it."""
    path = f"/_matrix/client/v3/rooms/{quote(room)}"
    body = {"msgtype": "m.text", "body": FIRST}
    root = server.done("PUT", f"{path}/send/m.room.message/first", body, ann.token)["event_id"]
    console.print(f"[bold]ann[/]  {FIRST}", soft_wrap=True)

    def answer() -> str:
        chunk = server.done("GET", f"{path}/messages?dir=b&limit=50", token=ann.token)["chunk"]
        return next((text for one in chunk if "Complete" in (text := _in_thread(one, root))), "")

    bot.until(lambda: bool(answer()), "The goal did not end", DONE_S)
    console.print(f"[bold]headway[/], in the thread under it:\n{escape(answer())}", soft_wrap=True)
    return 0


def _in_thread(event: dict[str, Any], root: str) -> str:
    content = event.get("content", {})
    relation = content.get("m.relates_to", {})
    is_there = relation.get("rel_type") == "m.thread" and relation.get("event_id") == root
    return str(content.get("body", "")) if is_there else ""


if __name__ == "__main__":
    sys.exit(play("matrix", ABOUT, shown))
