"""
Somebody on Matrix who speaks plain HTTP: fast, without encryption, and shown what the server has.

It is for crowds, bursts and for counting; how rooms look to people is for `matrix_user`. Calls block.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from tests.peers.synapse import Account, Json, Synapse

API: Final = "/_matrix/client/v3"
PAGE: Final = 500
LOOK_S: Final = 0.1

_ids = itertools.count()


@dataclass(frozen=True)
class PlainUser:
    """A person with a token."""

    server: Synapse
    account: Account
    _sent: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def user_id(self) -> str:
        """Who."""
        return self.account.user_id

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        """A call of the client API that has to succeed."""
        return self.server.done(method, f"{API}{path}", body, self.account.token)

    def create(self, *invited: str, encrypted: bool = False, **options: Any) -> str:
        """A new private room; returns its id."""
        lock = {"type": "m.room.encryption", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
        wish: Json = {"preset": "private_chat", "invite": list(invited), **options}
        if encrypted:
            wish["initial_state"] = [lock]
        return str(self.call("POST", "/createRoom", wish)["room_id"])

    def join(self, room: str) -> None:
        """Join a room that it was invited to."""
        self.call("POST", f"/join/{quote(room)}", {})

    def invite(self, room: str, user: str) -> None:
        """Invite somebody."""
        self.call("POST", f"/rooms/{quote(room)}/invite", {"user_id": user})

    def say(self, room: str, body: str, thread: str = "", **content: Any) -> str:
        """Say something in plain; returns the event's id."""
        said: Json = {"msgtype": "m.text", "body": body, **content}
        if thread:
            said["m.relates_to"] = {
                "rel_type": "m.thread", "event_id": thread, "is_falling_back": True,
                "m.in_reply_to": {"event_id": thread},
            }  # fmt: skip
        return self.send(room, "m.room.message", said)

    def send(self, room: str, type: str, content: Json) -> str:
        """Any event, in plain."""
        return str(self.call("PUT", _sending(room, type), content)["event_id"])

    def offer(self, room: str, type: str, content: Json) -> bool:
        """Any event, in plain; whether the homeserver took it."""
        path = f"{API}{_sending(room, type)}"
        return self.server.call("PUT", path, content, self.account.token).status == 200

    def until_joined(self, room: str, user: str, timeout_s: float = 20.0) -> None:
        """Wait until somebody is in the room."""
        path = f"/rooms/{quote(room)}/joined_members"
        until(lambda: user in self.call("GET", path)["joined"], timeout_s, f"{user} did not come")

    def events(self, room: str) -> list[Json]:
        """Everything that the server has of the room, oldest first."""
        found: list[Json] = []
        start = ""
        while True:
            path = f"/rooms/{quote(room)}/messages?dir=f&limit={PAGE}" + (
                f"&from={quote(start)}" if start else ""
            )
            page = self.call("GET", path)
            found += page["chunk"]
            start = page.get("end", "")
            if not start or not page["chunk"]:
                return found

    def messages(self, room: str, sender: str = "") -> list[Json]:
        """Messages of the room in the server's order, encrypted ones too, and their edits."""
        types = ("m.room.message", "m.room.encrypted")
        return [
            event for event in self.events(room)
            if event["type"] in types and sender in ("", event["sender"])
        ]  # fmt: skip


def _sending(room: str, type: str) -> str:
    return f"/rooms/{quote(room)}/send/{type}/{time.time_ns()}.{next(_ids)}"


def key_of(event: Json) -> str:
    """The key that a message of Headway was sent with; empty for others."""
    mark = event.get("content", {}).get("dev.headway", {})
    return str(mark.get("key", ""))


def is_edit(event: Json) -> bool:
    """It says another message anew."""
    relation = event.get("content", {}).get("m.relates_to", {})
    return bool(relation.get("rel_type") == "m.replace")


def thread_of(event: Json) -> str:
    """The root of the thread that it is in; empty in the main timeline."""
    relation = event.get("content", {}).get("m.relates_to", {})
    return str(relation.get("event_id", "")) if relation.get("rel_type") == "m.thread" else ""


def plain_users(server: Synapse, *names: str) -> Sequence[PlainUser]:
    """New users, one for each name."""
    return [PlainUser(server, server.register(name)) for name in names]


def until(holds: Callable[[], bool], timeout_s: float, why: str) -> None:
    """Look again and again until something holds."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, why
        time.sleep(LOOK_S)
