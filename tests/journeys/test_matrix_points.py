"""A goal that is put back and copied in a Matrix room, encrypted and not."""

from collections.abc import Iterator

import pytest

from tests.adapters.snapshots.test_whole_trees import kept_of
from tests.journeys.bot import until
from tests.journeys.matrix import MatrixBot, matrix_bot, running, shared_room
from tests.peers.matrix_user import MatrixUser, People
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.synapse import Synapse

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def ann(synapse: Synapse, matrix_people: People) -> MatrixUser:
    return matrix_people.login(synapse, synapse.register("ann"), only_signed=True)


@pytest.fixture(scope="module")
def headway(
    tmp_path_factory: pytest.TempPathFactory, api: BlockingMessagesApi, sandbox: str,
    synapse: Synapse, ann: MatrixUser,
) -> Iterator[MatrixBot]:  # fmt: skip
    with running(matrix_bot(tmp_path_factory.mktemp("points"), api, synapse), ann) as bot:
        yield bot


@pytest.mark.sandbox
@pytest.mark.parametrize("encrypted", [False, True], ids=["plain", "encrypted"])
def test_a_goal_is_put_back_byte_for_byte_and_copied_into_a_thread_of_its_own(
    headway: MatrixBot, ann: MatrixUser, encrypted: bool
) -> None:
    room = shared_room(ann, headway, encrypted=encrypted, name=f"points {encrypted}")
    goal = headway.asked(ann, room, "!goal !script keeps 3 3")
    goal.until("deciding")
    workspaces = headway.state_dir / "workspaces"
    first = kept_of(workspaces / goal.look().goal.session)
    goal.say("yes")
    goal.until_true(lambda look: look.goal.decisions == 2 and look.goal.state == "deciding")

    goal.say("rewind 1")
    goal.until("paused")
    goal.say("resume")
    goal.until_true(lambda look: bool(look.events("WorkspaceRestored")))
    back = kept_of(workspaces / goal.look().goal.session)
    goal.until_true(lambda look: look.goal.decisions == 3 and look.goal.state == "deciding")
    goal.say("fork 1")
    number = goal.look().goal.number

    def copies() -> list[str]:
        return [one.session for one in headway.goals() if one.forks == goal.look().goal.id]

    until(lambda: bool(copies()), 20, headway.told)
    [session] = copies()

    def is_asking() -> bool:
        [copy] = [one for one in headway.goals() if one.session == session]
        return copy.state == "deciding" and copy.decisions == 1

    until(is_asking, 60, headway.told)
    ann.until(
        lambda: any("checkpoint 1 (turn 1" in seen.body and "goes on from" in seen.body
                    for seen in ann.messages(room, headway.user_id)), 20, goal.story,
    )  # fmt: skip

    assert back == first
    log = workspaces / session / "drafts/log.txt"
    assert log.read_text() == "turn-1\nturn-2\n"
    roots = [seen for seen in ann.messages(room, headway.user_id) if not seen.relation]
    assert any(f"G{number + 1}" in seen.body for seen in roots)
