"""People played by matrix-js-sdk talk to each other over a real homeserver."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.peers.matrix_user import HAS_OLM, MatrixUser, People
from tests.peers.synapse import Synapse


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def bob(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("bob"))


@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_what_one_says_the_other_reads_as_it_is_now(
    ann: MatrixUser, bob: MatrixUser, encrypted: bool
) -> None:
    room = _shared(ann, bob, encrypted)

    root = ann.text(room, "first wrods", mentions=[bob.user_id])
    bob.until_seen(room, lambda seen: seen.id == root and seen.body == "first wrods")
    answer = bob.text(room, "in the thread", thread=root)
    ann.edit(room, root, "first words")
    liked = bob.react(room, root, "🎯")
    picture = bob.file(room, "a.txt", b"what is in it", encrypted=encrypted, thread=root)

    edited = bob.until_said(room, "first words")
    shown = ann.until_seen(room, lambda seen: seen.id == picture and seen.msgtype == "m.file")
    ann.until(lambda: bool(ann.reactions(room, root)), 10, lambda: ann.story(room))
    assert edited.edited
    assert edited.encrypted is encrypted
    assert edited.mentions == [bob.user_id]
    assert shown.thread == root
    assert ann.download(shown) == b"what is in it"
    assert ann.reactions(room, root) == [(bob.user_id, "🎯")]
    assert ann.threads(room) == {root: [answer, picture]}
    bob.redact(room, liked)
    ann.until(lambda: not ann.reactions(room, root), 10, lambda: ann.story(room))


@pytest.mark.skipif(not HAS_OLM, reason="libolm has no build for this Python")
def test_a_client_of_another_make_takes_part(
    synapse: Synapse, ann: MatrixUser, matrix_olm_people: People
) -> None:
    fay = matrix_olm_people.login(synapse, synapse.register("fay"))
    # She has no identity that could sign her device, and ann reads signed ones alone.
    ann.do("isolate", only_signed=False)
    room = _shared(ann, fay, encrypted=True)

    root = ann.text(room, "from Rust")
    fay.until_said(room, "from Rust")
    answer = fay.text(room, "from libolm", thread=root)
    ann.edit(room, root, "from Rust, edited")

    shown = ann.until_said(room, "from libolm")
    edited = fay.until_said(room, "from Rust, edited")
    ann.do("isolate", only_signed=True)
    assert (shown.id, shown.thread, shown.encrypted) == (answer, root, True)
    assert (edited.id, edited.edited, edited.encrypted) == (root, True, True)


def test_who_withholds_keys_is_not_read(ann: MatrixUser, bob: MatrixUser) -> None:
    room = _shared(ann, bob, encrypted=True)

    bob.do("withhold", on=True)
    sent = bob.text(room, "not for unverified devices")
    bob.do("withhold", on=False)

    unread = ann.until_seen(room, lambda seen: seen.id == sent and bool(seen.failure))
    assert unread.body != "not for unverified devices"


def test_an_unsigned_device_is_not_read_by_who_reads_signed_ones_alone(
    synapse: Synapse, matrix_people: People, ann: MatrixUser
) -> None:
    unsigned = matrix_people.login(synapse, synapse.register("cat"), signs=False)
    room = _shared(ann, unsigned, encrypted=True)

    sent = unsigned.text(room, "from an unsigned device")

    hidden = ann.until_seen(room, lambda seen: seen.id == sent and bool(seen.failure))
    assert hidden.failure == "UNSIGNED_SENDER_DEVICE"


def _shared(one: MatrixUser, other: MatrixUser, encrypted: bool) -> str:
    room = one.create(encrypted=encrypted, invite=[other.user_id])
    other.until_invited(room)
    other.join(room)
    one.until_member(room, other.user_id)
    return room


@pytest.mark.parametrize("where", ["in a room", "to a device"])
@pytest.mark.parametrize("matches", [True, False])
def test_two_people_compare_emoji(
    synapse: Synapse, matrix_people: People, where: str, matches: bool
) -> None:
    one = matrix_people.login(synapse, synapse.register("dan"))
    other = matrix_people.login(synapse, synapse.register("eve"))
    room = _shared(one, other, encrypted=True)

    with ThreadPoolExecutor(1) as side:
        there, device = (room, "") if where == "in a room" else ("", other.account.device_id)
        asking = side.submit(one.verify, other.user_id, room=there, device=device, matches=matches)
        other.until(lambda: bool(other.requests), 10, lambda: "no request")
        accepted = other.do("accept", **other.requests[0], starts=False, matches=True, seconds=10)
        asked = asking.result()

    assert (asked.phase, accepted["phase"]) == (("Done",) * 2 if matches else ("Cancelled",) * 2)
    assert asked.code == ("" if matches else "m.mismatched_sas")
    assert asked.emoji == accepted["emoji"]
    assert len(asked.emoji) == 7
    # The signature goes up a moment after both are done.
    one.until(
        lambda: one.trust(other.user_id)["verified"] is matches, 10, lambda: "trusted otherwise"
    )
