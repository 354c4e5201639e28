"""
People on Matrix, played by matrix-js-sdk with Rust's encryption, and by mautrix with libolm.

Nothing of either is the bot's library.
One process plays all of them. What a login is shown is kept here as it comes, decrypted and
with edits applied as the SDK does it. All calls block; a test with a loop of its own makes them
with `asyncio.to_thread`.

with people() as crowd:
    ann = crowd.login(synapse, synapse.register("ann"))
    room = ann.create(encrypted=True, invite=[bot.user_id])
    sent = ann.text(room, "hello")
    ann.until_seen(room, lambda seen: seen.sender == bot.user_id and "hello" in seen.body)
"""

import base64
import contextlib
import json
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.peers import beds
from tests.peers.node import node, npm
from tests.peers.synapse import Account, Json, Synapse

OLM_LOCK: Final = beds.ROOT / "deploy" / "mautrix.lock"
HERE: Final = Path(__file__).resolve().parent / "matrix"
READY_S: Final = 60.0
CALL_S: Final = 60.0
SEEN_S: Final = 20.0
VERIFY_S: Final = 30.0
HAS_OLM: Final = sys.version_info < (3, 13)


class Declined(AssertionError):
    """The SDK or the server said no; `code` is Matrix's, where it has one."""

    def __init__(self, words: str, code: str) -> None:
        super().__init__(f"{code} {words}".strip())
        self.code = code


@dataclass(frozen=True, slots=True)
class Seen:
    """An event as a person's client has it now."""

    id: str
    sender: str
    type: str
    content: Json
    """Decrypted, and with the newest edit applied."""
    original: Json
    """Decrypted, without edits."""
    relation: Json
    """`m.relates_to`, as it was sent."""
    thread: str
    """The root's id; the client counts the root itself as in its thread."""
    redacts: str
    encrypted: bool
    waits: bool
    """Encrypted, and not yet tried."""
    failure: str
    """Why it cannot be decrypted; empty when it can."""
    edited: bool
    redacted: bool
    at: float
    """Milliseconds."""
    state_key: str | None = None

    @property
    def body(self) -> str:
        """Its words now; empty where it has none."""
        return str(self.content.get("body", ""))

    @property
    def html(self) -> str:
        """Its formatted words; empty where it has none."""
        return str(self.content.get("formatted_body", ""))

    @property
    def msgtype(self) -> str:
        """Its kind, as `m.notice`."""
        return str(self.content.get("msgtype", ""))

    @property
    def is_message(self) -> bool:
        """It can be read, and is no edit of another one."""
        return self.type == "m.room.message" and self.relation.get("rel_type") != "m.replace"

    @property
    def mentions(self) -> list[str]:
        """Whom it pings."""
        return list(self.original.get("m.mentions", {}).get("user_ids", []))

    @property
    def reply_to(self) -> str:
        """The event that it answers, or falls back to."""
        return str(self.relation.get("m.in_reply_to", {}).get("event_id", ""))


@dataclass(frozen=True, slots=True)
class Verified:
    """How a verification ended: `phase` is `Done` or `Cancelled`, or where it stood when time was up."""

    phase: str
    code: str
    by: str
    emoji: list[str]
    decimal: list[int]


@dataclass
class MatrixUser:
    """One login of a person. What it was shown is in `seen`, by room and id, in order of coming."""

    account: Account
    """With this login's token and device."""
    seen: dict[str, dict[str, Seen]] = field(default_factory=dict)
    typing: dict[str, list[str]] = field(default_factory=dict)
    """Who types, by room."""
    was_typing: set[tuple[str, str]] = field(default_factory=set)
    """Room and user, of everyone who ever typed."""
    requests: list[Json] = field(default_factory=list)
    """Verifications that others asked for: `id` and `by`."""
    _crowd: "People | None" = None
    _who: str = ""

    @property
    def user_id(self) -> str:
        """Who."""
        return self.account.user_id

    def create(
        self, *, encrypted: bool = False, invite: Sequence[str] = (), name: str = "", **more: Any
    ) -> str:
        """A new private room; `more` are parameters of `/createRoom`. Returns its id."""
        options: Json = {"preset": "private_chat", "invite": list(invite), **more}
        if name:
            options["name"] = name
        return str(self.do("create", encrypted=encrypted, options=options))

    def join(self, room: str) -> None:
        """Join, and wait until the client knows the room."""
        self.do("join", room=room)

    def leave(self, room: str) -> None:
        """Leave it."""
        self.do("leave", room=room)

    def invite(self, room: str, user: str) -> None:
        """Invite somebody."""
        self.do("invite", room=room, user=user)

    def kick(self, room: str, user: str, reason: str = "") -> None:
        """Put somebody out."""
        self.do("kick", room=room, user=user, reason=reason)

    def ban(self, room: str, user: str, reason: str = "") -> None:
        """Put somebody out for good."""
        self.do("ban", room=room, user=user, reason=reason)

    def text(
        self, room: str, body: str, *, thread: str = "", reply_to: str = "",
        mentions: Sequence[str] = (), html: str = "", **more: Any,
    ) -> str:  # fmt: skip
        """Say something, in a thread or as a plain reply; `more` goes into the content."""
        content: Json = {"msgtype": "m.text", "body": body, **more}
        if html:
            content |= {"format": "org.matrix.custom.html", "formatted_body": html}
        if mentions:
            content["m.mentions"] = {"user_ids": list(mentions)}
        if reply_to:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": reply_to}}
        return self.send(room, "m.room.message", content, thread=thread)

    def send(self, room: str, type: str, content: Json, *, thread: str = "") -> str:
        """Any event; in an encrypted room it is encrypted. Returns its id."""
        return str(self.do("send", room=room, thread=thread, type=type, content=content))

    def edit(self, room: str, event: str, body: str) -> str:
        """Say instead what is said now."""
        new: Json = {"msgtype": "m.text", "body": body}
        change = {
            **new, "body": f"* {body}", "m.new_content": new,
            "m.relates_to": {"rel_type": "m.replace", "event_id": event},
        }  # fmt: skip
        return self.send(room, "m.room.message", change)

    def react(self, room: str, event: str, emoji: str) -> str:
        """Put a reaction under an event."""
        relation = {"rel_type": "m.annotation", "event_id": event, "key": emoji}
        return self.send(room, "m.reaction", {"m.relates_to": relation})

    def redact(self, room: str, event: str, reason: str = "") -> str:
        """Take an event back."""
        return str(self.do("redact", room=room, event=event, reason=reason))

    def file(
        self, room: str, name: str, data: bytes, media_type: str = "text/plain", *,
        thread: str = "", encrypted: bool = False, msgtype: str = "m.file", body: str = "",
    ) -> str:  # fmt: skip
        """Send a file, itself encrypted where the room is."""
        place = self.do(
            "upload", base64=base64.b64encode(data).decode(), type=media_type, encrypt=encrypted
        )
        shown = {"msgtype": msgtype, "body": body or name, "filename": name}
        size = {"info": {"mimetype": media_type, "size": len(data)}}
        return self.send(room, "m.room.message", {**shown, **size, **place}, thread=thread)

    def download(self, seen: Seen) -> bytes:
        """The bytes of a message's file, decrypted and checked."""
        content = seen.content
        return base64.b64decode(
            self.do("download", url=content.get("url"), file=content.get("file"))
        )

    def set_state(self, room: str, type: str, content: Json, key: str = "") -> str:
        """Set a state event."""
        return str(self.do("state", room=room, type=type, key=key, content=content))

    def encrypt(self, room: str) -> None:
        """Turn encryption on, for good."""
        self.set_state(room, "m.room.encryption", {"algorithm": "m.megolm.v1.aes-sha2"})

    def upgrade(self, room: str, version: str = "12") -> str:
        """Replace the room by another; returns that one's id."""
        return str(self.do("upgrade", room=room, version=version))

    def messages(self, room: str, sender: str = "") -> list[Seen]:
        """What was said that can be read, by all or by one, in order of coming."""
        kept = list(self.seen.get(room, {}).values())
        return [seen for seen in kept if seen.is_message and sender in ("", seen.sender)]

    def reactions(self, room: str, event: str) -> list[tuple[str, str]]:
        """Who put what under an event: (user, emoji), without those taken back."""
        kept = list(self.seen.get(room, {}).values())
        return [
            (seen.sender, str(seen.relation["key"]))
            for seen in kept
            if seen.type == "m.reaction" and seen.relation.get("event_id") == event
            and not seen.redacted and "key" in seen.relation
        ]  # fmt: skip

    def threads(self, room: str) -> dict[str, list[str]]:
        """Replies of each thread as the client lists them, by root."""
        listed: dict[str, list[str]] = self.do("threads", room=room)
        return listed

    def members(self, room: str) -> dict[str, str]:
        """Membership by user."""
        found: dict[str, str] = self.do("members", room=room)
        return found

    def rooms(self) -> dict[str, str]:
        """Its own membership by room."""
        found: dict[str, str] = self.do("rooms")
        return found

    def until_seen(
        self, room: str, fits: Callable[[Seen], bool], timeout_s: float = SEEN_S
    ) -> Seen:
        """Wait for an event that fits; returns the newest. Raises AssertionError with what there is."""
        found: list[Seen] = []

        def look() -> bool:
            found[:] = [seen for seen in list(self.seen.get(room, {}).values()) if fits(seen)]
            return bool(found)

        self.until(look, timeout_s, lambda: self.story(room))
        return found[-1]

    def until_said(self, room: str, words: str, *, by: str = "", timeout_s: float = SEEN_S) -> Seen:
        """Wait for a message, as edited, that holds these words."""
        return self.until_seen(
            room,
            lambda seen: seen.is_message and words in seen.body and by in ("", seen.sender),
            timeout_s,
        )

    def until_member(
        self, room: str, user: str, membership: str = "join", timeout_s: float = SEEN_S
    ) -> None:
        """Wait until somebody is in the room, or is out of it."""
        self.until_seen(
            room,
            lambda seen: seen.type == "m.room.member" and seen.state_key == user
            and seen.content.get("membership") == membership,
            timeout_s,
        )  # fmt: skip

    def until_invited(self, room: str, timeout_s: float = SEEN_S) -> None:
        """Wait until an invitation has come."""
        self.until(lambda: self.rooms().get(room) == "invite", timeout_s, lambda: "not invited")

    def until(self, holds: Callable[[], bool], timeout_s: float, why: Callable[[], str]) -> None:
        """Wait until something holds; looked at whenever anything came."""
        assert self._crowd is not None
        self._crowd.until(holds, timeout_s, why)

    def verify(
        self, user: str, *, room: str = "", device: str = "", starts: bool = True,
        matches: bool = True, timeout_s: float = VERIFY_S,
    ) -> Verified:  # fmt: skip
        """Verify a user in a room, or a device of theirs to-device, by comparing emoji.

        Args:
            starts: this side sends `start` once both are ready; else the other one has to.
            matches: say that the emoji are the same; else that they differ.
        """
        ended = self.do(
            "verify", wait_s=timeout_s + 10, user=user, room=room, device=device, starts=starts,
            matches=matches, seconds=timeout_s,
        )  # fmt: skip
        return Verified(**ended)

    def trust(self, user: str) -> Json:
        """What the client thinks of a user: `verified`, and `devices` with `signed`, `verified`."""
        thought: Json = self.do("trust", user=user)
        return thought

    def do(self, what: str, wait_s: float = CALL_S, **given: Any) -> Any:
        """Any call that `people.mjs` knows. Raises Declined."""
        assert self._crowd is not None
        return self._crowd.call(self._who, what, given, wait_s)

    def take(self, line: Json) -> None:
        """Keep what the client was shown."""
        if "event" in line:
            seen = Seen(**line["event"])
            self.seen.setdefault(line["room"], {})[seen.id] = seen
        elif "typing" in line:
            self.typing[line["room"]] = line["typing"]
            self.was_typing |= {(line["room"], user) for user in line["typing"]}
        elif "request" in line:
            self.requests.append(line["request"])

    def story(self, room: str) -> str:
        """The room as this login has it, for a failure's message."""
        kept = list(self.seen.get(room, {}).values())
        lines = [
            f"{seen.id[:8]} {seen.sender} {seen.type} {seen.failure}"
            f" in {seen.thread[:8]}: {seen.body[:300]!r}"
            for seen in kept
        ]
        return "\n".join(["What was looked for did not come; the room has:", *lines[-40:]])


class People:
    """The process that plays people, and who they are."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._users: dict[str, MatrixUser] = {}
        self._answers: dict[int, queue.Queue[Json]] = {}
        self._count = 0
        self._came = threading.Condition()
        self.ready = threading.Event()
        self.stray: list[str] = []
        """Failures of the SDK that belong to no call."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def login(
        self, server: Synapse, account: Account, *, only_signed: bool = False,
        encrypts: bool = True, signs: bool = True, device: str = "",
    ) -> MatrixUser:  # fmt: skip
        """Log a person in on a new device, or on one that is named.

        Args:
            only_signed: talk to devices alone that their owner has signed.
            encrypts: the client can.
            signs: make the person's cross-signing keys, or new ones, and sign the device. Leave it
                out for a second device.
        """
        with self._came:
            who = f"{account.user_id} {len(self._users)}"
            user = self._users[who] = MatrixUser(account, _crowd=self, _who=who)
        made = user.do(
            "login", url=server.url, user=account.user_id, password=account.password, device=device,
            encrypts=encrypts, signs=signs, only_signed=only_signed,
        )  # fmt: skip
        user.account = Account(made["user"], account.password, made["token"], made["device"])
        return user

    def call(self, who: str, what: str, given: Json, wait_s: float) -> Any:
        """One call of one login. Raises Declined."""
        with self._came:
            self._count += 1
            id = self._count
            answers = self._answers[id] = queue.Queue()
            assert self._process.stdin is not None
            line = json.dumps({"id": id, "who": who, "do": what, "with": given})
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        try:
            answer = answers.get(timeout=wait_s)
        except queue.Empty:
            raise AssertionError(f"{who} did not {what} in {wait_s} s; {self.stray}") from None
        finally:
            del self._answers[id]
        if "error" in answer:
            raise Declined(answer["error"], answer["code"])
        return answer["result"]

    def until(self, holds: Callable[[], bool], timeout_s: float, why: Callable[[], str]) -> None:
        """Wait until something holds; looked at when anything came, and every quarter second."""
        end = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < end, why()
            with self._came:
                self._came.wait(0.25)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            line = json.loads(text)
            if "ready" in line:
                self.ready.set()
            elif "id" in line:
                if (waiting := self._answers.get(line["id"])) is not None:
                    waiting.put(line)
            elif "stray" in line:
                self.stray.append(line["stray"])
            else:
                self._users[line["who"]].take(line)
            with self._came:
                self._came.notify_all()
        for waiting in list(self._answers.values()):
            waiting.put({"error": f"The clients have ended: {self.stray}", "code": ""})


@contextmanager
def people() -> Iterator[People]:
    """The process that plays people with matrix-js-sdk, for as long as a `with` lasts."""
    with _played([node(), HERE / "people.mjs", javascript()], "people.log") as crowd:
        yield crowd


@contextmanager
def olm_people() -> Iterator[People]:
    """The same, with mautrix and libolm; of the calls those that `olm_people.py` knows.

    libolm has ready builds up to Python 3.12: ask `HAS_OLM` first.
    """
    python = beds.python_environment("mautrix", OLM_LOCK)
    with _played([python, HERE / "olm_people.py"], "olm_people.log") as crowd:
        yield crowd


@contextmanager
def _played(command: list[str | Path], log_name: str) -> Iterator[People]:
    with (beds.CACHE / log_name).open("a") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
            encoding="utf-8",
        )  # fmt: skip
    try:
        crowd = People(process)
        assert crowd.ready.wait(READY_S), f"It did not start; see {log_name} in .cache/beds."
        yield crowd
    finally:
        _ended(process)


def _ended(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def javascript() -> Path:
    """The folder that holds `node_modules`, installed by lock.

    Raises:
        RuntimeError: it could not be installed; with npm's last words.
    """
    return beds.bed("js", HERE / "package-lock.json", _install)


def _install(folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund"]
    beds.run([*npm(), "ci", *quiet], folder, "Installing the Matrix clients")
