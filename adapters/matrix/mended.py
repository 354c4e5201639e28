"""
What nio's encryption does wrong, put right on the one object that does it.

nio 0.26 has no hooks for these; each is a method of its `Olm` that is replaced on our client's instance.
"""

from typing import Any, Final

import nio
import vodozemac
from nio.crypto import InboundGroupSession, Olm

ALGORITHM: Final = "m.megolm.v1.aes-sha2"


def mend(client: nio.AsyncClient) -> None:
    """Put right what is wrong in a client whose crypto store is loaded; twice is once."""
    olm = client.olm
    assert olm, "there is no crypto store"
    _replace(olm, "handle_key_verification", _leave_verification)
    _replace(olm, "_handle_key_requests", _give_no_key)
    _replace(olm, "decrypt", _Decrypt(olm))
    _replace(olm, "_create_inbound_session", _NewSessions(olm))
    _replace(olm, "_should_accept_forward", _Forwards(olm))
    _replace(olm, "create_group_session", _RoomKeys(olm))


def opens_more(new: InboundGroupSession, there: InboundGroupSession) -> bool:
    """Whether a key opens earlier messages than the one of the same session that is there."""
    return int(new.first_known_index) < int(there.first_known_index)


def _replace(olm: Olm, name: str, by: Any) -> None:
    if not isinstance(vars(olm).get(name), type(by)):
        setattr(olm, name, by)


def _leave_verification(event: object) -> None:
    """nio answers `start` from a device by itself, in a way that no other client understands."""


def _give_no_key(event: object) -> None:
    """nio gives keys to verified devices of the own account, and makes sessions with the others.

    The account is the bot's alone, so that whoever asks has no business with its keys.
    """


class _Decrypt:
    """Olm messages whose session cannot be made any more.

    A one-time key that we do not have (an older crypto store was restored) makes nio raise, so that
    the session with that device stays broken for ever. Here it is replaced.
    """

    def __init__(self, olm: Olm) -> None:
        self._olm = olm
        self._decrypt = olm.decrypt

    def __call__(self, sender: str, sender_key: str, message: Any) -> Any:
        try:
            return self._decrypt(sender, sender_key, message)
        except vodozemac.SessionCreationException:
            self._olm._mark_device_for_unwedging(sender, sender_key)
            return None


class _NewSessions:
    """Sessions that another device begins.

    It does so, too, where it could not read what we sent over the former one: with that the keys of
    rooms are lost, which nio takes for given. They are given again with the next message.
    """

    def __init__(self, olm: Olm) -> None:
        self._olm = olm
        self._create = olm._create_inbound_session

    def __call__(self, sender: str, sender_key: str, message: Any) -> Any:
        session = self._create(sender, sender_key, message)
        device = self._olm.device_store.device_from_sender_key(sender, sender_key)
        if device is not None:
            for outbound in self._olm.outbound_group_sessions.values():
                if (sender, device.id) in outbound.users_shared_with:
                    outbound.users_shared_with.discard((sender, device.id))
                    outbound.shared = False
        return session


class _RoomKeys:
    """Keys of sessions that are here already.

    A client that gives its key again gives it from the next message on. nio puts that in the place of
    the one that opens the earlier messages, too.
    """

    def __init__(self, olm: Olm) -> None:
        self._olm = olm
        self._create = olm.create_group_session

    def __call__(
        self, sender_key: str, sender_fp_key: str, room_id: str, session_id: str, session_key: str
    ) -> None:
        there = self._olm.inbound_group_store.get(room_id, sender_key, session_id)
        new = InboundGroupSession(session_key, sender_fp_key, sender_key, room_id)
        if there is not None and not opens_more(new, there):
            return
        self._create(sender_key, sender_fp_key, room_id, session_id, session_key)


class _Forwards:
    """Which forwarded keys are taken: those that we asked for, from the device that made them.

    nio takes them from verified devices of the own account alone. But the device that made a session
    says the same about it in `m.forwarded_room_key` as in `m.room_key`, over the same Olm session; it
    is what clients answer to who lost a key. Keys of a third device's sessions are not taken.
    """

    def __init__(self, olm: Olm) -> None:
        self._olm = olm

    def __call__(self, sender: str, sender_key: str, event: nio.ForwardedRoomKeyEvent) -> bool:
        asked = self._olm.outgoing_key_requests.get(event.session_id)
        if asked is None or (asked.room_id, asked.algorithm) != (event.room_id, event.algorithm):
            return False
        device = self._olm.device_store.device_from_sender_key(sender, sender_key)
        content = event.source["content"]
        return (
            event.algorithm == ALGORITHM
            and device is not None
            and content.get("sender_key") == sender_key
            and content.get("sender_claimed_ed25519_key") == device.ed25519
            and not content.get("forwarding_curve25519_key_chain")
        )
