"""What may be called when, as Slack counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.pace import EDITS, EDITS_OF_STATUS, POSTS_BURST, STATUS_S, TIERS, Pace
from tests.adapters.slack.web_bed import Watch

POST, UPDATE, READ = "chat.postMessage", "chat.update", "conversations.replies"


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def pace(watch: Watch) -> Pace:
    return Pace(watch)


def test_a_channel_takes_a_few_posts_at_once_and_then_one_a_second(
    pace: Pace, watch: Watch
) -> None:
    burst = [pace.take("T1", POST, "C1") for _ in range(POSTS_BURST)]
    wait_s = pace.take("T1", POST, "C1")
    elsewhere = pace.take("T1", POST, "C2")
    watch.now_s += wait_s

    assert burst == [0.0] * POSTS_BURST
    assert wait_s == pytest.approx(1.0)
    assert elsewhere == 0.0
    assert pace.take("T1", POST, "C1") == 0.0
    assert pace.take("T1", POST, "C1") == pytest.approx(1.0)


@pytest.mark.parametrize("method", [UPDATE, READ, "users.list", "views.open"])
def test_a_method_has_so_many_calls_a_minute_in_each_workspace(
    pace: Pace, watch: Watch, method: str
) -> None:
    most = EDITS if method == UPDATE else TIERS[method]
    taken = [pace.take("T1", method, "C1") for _ in range(most)]
    watch.now_s += 10

    assert taken == [0.0] * most
    assert pace.take("T1", method, "C2") == pytest.approx(50.0)
    assert pace.take("T2", method, "C1") == 0.0
    watch.now_s += 50
    assert pace.take("T1", method, "C1") == 0.0


def test_what_slack_says_counts_before_all(pace: Pace, watch: Watch) -> None:
    pace.refused("T1", READ, "C1", 17)
    pace.refused("T1", POST, "C1", None)

    assert pace.take("T1", READ, "C2") == pytest.approx(17)
    assert pace.take("T1", POST, "C1") == pytest.approx(30)
    assert pace.take("T1", POST, "C2") == 0.0
    watch.now_s += 17
    assert pace.take("T1", READ, "C2") == 0.0


def test_a_status_leaves_room_for_cards(pace: Pace) -> None:
    for _ in range(EDITS_OF_STATUS):
        pace.take("T1", UPDATE, "C1")

    assert pace.status_s("T1", "C1:1.1") == pytest.approx(60)
    assert pace.status_s("T1", "C1:1.1", is_resting=True) == 0.0
    assert pace.take("T1", UPDATE, "C1") == 0.0


def test_one_status_is_edited_every_three_seconds_and_others_beside_it(
    pace: Pace, watch: Watch
) -> None:
    pace.edited("C1:1.1")
    watch.now_s += 1

    assert pace.status_s("T1", "C1:1.1") == pytest.approx(STATUS_S - 1)
    assert pace.status_s("T1", "C1:2.2") == 0.0
    watch.now_s += 2
    assert pace.status_s("T1", "C1:1.1") == 0.0


@given(st.lists(st.floats(0, 5), min_size=1, max_size=200))
def test_no_channel_is_ever_given_more_than_it_takes(gaps: list[float]) -> None:
    watch = Watch()
    pace, sent = Pace(watch), list[float]()

    for gap in gaps:
        watch.now_s += gap
        if pace.take("T1", POST, "C1") == 0.0:
            sent.append(watch.now_s)

    for at in sent:
        within = [one for one in sent if at <= one < at + 10]
        assert len(within) <= POSTS_BURST + 10


@given(st.lists(st.tuples(st.floats(0, 4), st.booleans()), min_size=1, max_size=150))
def test_a_minute_never_has_more_edits_than_slack_takes(asked: list[tuple[float, bool]]) -> None:
    watch = Watch()
    pace, sent = Pace(watch), list[float]()

    for gap, is_status in asked:
        watch.now_s += gap
        may = not is_status or pace.status_s("T1", f"C1:{len(sent)}") == 0.0
        if may and pace.take("T1", UPDATE, "C1") == 0.0:
            sent.append(watch.now_s)

    assert all(sum(at - 60 < one <= at for one in sent) <= EDITS for at in sent)
