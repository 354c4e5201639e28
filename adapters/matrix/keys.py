"""
Room keys: what the encryption needs after each sync, asking for a missing key, export and import.

What asking can do: the client of who wrote the message sends the key again, where it had sent it to this
device before, and mended.py takes it. Where the way itself is broken (the Olm session between the two
devices), a new one is made first and then it is asked again; clients that answer nobody send the key
with their next message over it.

Rule 1: no key is handed out to who asks for it (mended.py).
Rule 2: a file of keys appears whole, for its owner alone, and never replaces another file.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import nio
from nio.crypto import InboundGroupSession, Olm

from adapters.matrix import crypto_store
from adapters.matrix.errors import translated, unwrap
from adapters.matrix.key_file import WrongPassphrase, locked, unlocked
from adapters.matrix.mended import opens_more
from adapters.matrix.sealing import claim_keys
from bot.errors import BadSettings

ALGORITHM: Final = "m.megolm.v1.aes-sha2"
SHORTEST_PASSPHRASE: Final = 8
MOST_ASKED: Final = 100
"""Keys of one device that are asked for again after its session was replaced."""
LONGEST_FILE: Final = 256 * 1024 * 1024


async def keep_up(client: nio.AsyncClient) -> None:
    """What the encryption asks for after a sync: keys told, read and claimed, messages sent.

    Raises:
        Wait, LoggedOut: as `errors.unwrap`; what was left is done after the next sync.
    """
    assert client.olm
    with translated("The encryption's keys cannot be brought up to date"):
        await crypto_store.upload_keys(client)
        if client.should_query_keys:
            unwrap(await client.keys_query())
        if client.should_claim_keys:
            await claim_keys(client, client.get_users_for_key_claiming())
            # Who has no key to give is not asked after every sync; the next trouble names it again.
            client.olm.wedged_devices.clear()
        for sent in await client.send_to_device_messages():
            unwrap(sent)


async def ask_for_key(client: nio.AsyncClient, event: nio.MegolmEvent) -> bool:
    """Ask who wrote a message for its key; once for each key, false where that was done.

    Raises:
        Wait, LoggedOut: as `errors.unwrap`; the next `keep_up` asks.
    """
    olm = client.olm
    assert olm
    assert client.device_id
    _ask_again_later(olm, event)
    request = event.as_key_request(event.sender, client.device_id, event.session_id)
    waiting = olm.outgoing_to_device_messages
    if event.session_id in olm.outgoing_key_requests or request in waiting:
        return False
    # nio remembers what was asked for only of what stood in its queue; there it also stays if it
    # cannot be sent now.
    waiting.append(request)
    with translated("The key of a message cannot be asked for"):
        unwrap(await client.to_device(request))
    return True


def export_keys(client: nio.AsyncClient, path: Path, passphrase: str) -> int:
    """Write all room keys to a new file that every Matrix client can import; returns how many.

    Raises:
        BadSettings: the file is there already or cannot be written, or the passphrase is too short.
    """
    if len(passphrase) < SHORTEST_PASSPHRASE:
        raise BadSettings(
            f"The passphrase has fewer than {SHORTEST_PASSPHRASE} characters. It is all that "
            "protects the keys: take a longer one."
        )
    assert client.store
    sessions = [_exported(session) for session in client.store.load_inbound_group_sessions()]
    _write_new(path, locked(json.dumps(sessions).encode(), passphrase))
    return len(sessions)


def import_keys(client: nio.AsyncClient, path: Path, passphrase: str) -> tuple[int, int]:
    """Add the room keys of a file that any Matrix client wrote: (how many are new, how many it has).

    Raises:
        BadSettings: the file cannot be read, is no such file, or the passphrase is wrong.
    """
    assert client.olm
    found = _read(path, passphrase)
    new = 0
    store = client.olm.inbound_group_store
    for session in _sessions(found):
        there = store.get(session.room_id, session.sender_key, session.id)
        if there is None or opens_more(session, there):
            store.add(session)
            client.olm.save_inbound_group_session(session)
            new += 1
    return new, len(found)


def _ask_again_later(olm: Olm, event: nio.MegolmEvent) -> None:
    """Have nio ask once more when it has replaced a broken session; where there is none, it is made.

    What is asked for over a session that turns out broken is answered over that one.
    """
    sender_key = event.sender_key or ""
    device = olm.device_store.device_from_sender_key(event.sender, sender_key)
    if device is None:
        olm.users_for_key_query.add(event.sender)
        return
    events = olm.key_re_requests_events[device.user_id, device.device_id]
    if len(events) < MOST_ASKED and event.session_id not in [each.session_id for each in events]:
        events.append(event)
    if olm.session_store.get(device.curve25519) is None and device not in olm.wedged_devices:
        olm.wedged_devices.append(device)


def _exported(session: InboundGroupSession) -> dict[str, Any]:
    return {
        "algorithm": ALGORITHM,
        "room_id": session.room_id,
        "sender_key": session.sender_key,
        "sender_claimed_keys": {"ed25519": session.ed25519},
        "session_id": session.id,
        "session_key": session.export_session(session.first_known_index),
        "forwarding_curve25519_key_chain": session.forwarding_chain,
    }


def _sessions(found: list[Any]) -> Iterable[InboundGroupSession]:
    """The keys that can be used; one that is torn or of another kind is passed over."""
    for each in found:
        try:
            if each["algorithm"] != ALGORITHM:
                continue
            session = InboundGroupSession.import_session(
                each["session_key"],
                each["sender_claimed_keys"]["ed25519"],
                each["sender_key"],
                each["room_id"],
                list(each.get("forwarding_curve25519_key_chain", [])),
            )
        except (LookupError, TypeError, ValueError, AttributeError):
            continue
        if session.id == each.get("session_id"):
            yield session


def _read(path: Path, passphrase: str) -> list[Any]:
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise BadSettings(f"{path} is too large to be a file of room keys.")
        found = json.loads(unlocked(path.read_text("ascii"), passphrase))
    except OSError as error:
        raise BadSettings(f"{path} cannot be read ({error.strerror}).") from error
    except WrongPassphrase as error:
        raise BadSettings(
            f"{path} does not open: the passphrase is wrong, or the file was altered. "
            "Type the passphrase that it was exported with."
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadSettings(
            f"{path} is no file of room keys. Export one: headway matrix keys export, or in another "
            "client under its security settings."
        ) from error
    if not isinstance(found, list):
        raise BadSettings(f"{path} holds no list of room keys.")
    return found


def _write_new(path: Path, text: str) -> None:
    """Raises BadSettings."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(file, "w", encoding="ascii") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            # A link fails where a rename would replace.
            os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except FileExistsError as error:
        raise BadSettings(f"{path} is there already. Name another file, or remove it.") from error
    except OSError as error:
        raise BadSettings(f"{path} cannot be written ({error.strerror}).") from error
