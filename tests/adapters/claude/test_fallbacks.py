"""Which model is asked."""

from adapters.claude.clients import Endpoint
from adapters.claude.endpoint_state import EndpointState
from adapters.claude.fallbacks import Fallbacks

OPEN = EndpointState("e")
BOTH = Endpoint(fallback_models=("b", "c"))


def overloaded(since: float, attempts: int, kind: str = "overload") -> EndpointState:
    return EndpointState("e", kind=kind, since=since, closed_at=since, attempts=attempts)


def test_without_fall_backs_it_is_the_one_wanted() -> None:
    fallbacks = Fallbacks(Endpoint())

    assert fallbacks.pick("a", overloaded(0, 9), now=9_999) == "a"
    assert not fallbacks.missed("a", "a", now=0)


def test_within_two_minutes_of_overload_it_is_the_one_wanted() -> None:
    assert Fallbacks(BOTH).pick("a", overloaded(0, 5), now=119) == "a"


def test_after_two_minutes_of_overload_the_probes_take_turns() -> None:
    fallbacks = Fallbacks(BOTH)

    asked = [fallbacks.pick("a", overloaded(0, n), now=120) for n in range(6)]

    assert asked == ["a", "b", "c", "a", "b", "c"]


def test_a_rate_limit_is_of_the_key_and_no_other_model_helps() -> None:
    assert Fallbacks(BOTH).pick("a", overloaded(0, 7, "rate_limit"), now=999) == "a"


def test_a_fall_back_that_answered_is_kept_for_ten_minutes() -> None:
    fallbacks = Fallbacks(BOTH)
    fallbacks.served("a", "b", now=1000)
    fallbacks.served("a", "b", now=1500)

    assert fallbacks.pick("a", OPEN, now=1599) == "b"
    assert fallbacks.pick("a", OPEN, now=1600) == "a"


def test_a_model_that_is_not_found_is_passed_over_until_all_are() -> None:
    fallbacks = Fallbacks(BOTH)

    assert fallbacks.missed("a", "a", now=0)
    assert fallbacks.pick("a", OPEN, now=0) == "b"
    assert fallbacks.missed("a", "b", now=0)
    assert fallbacks.pick("a", OPEN, now=0) == "c"
    assert not fallbacks.missed("a", "c", now=0)
    assert fallbacks.pick("a", OPEN, now=0) == "a"
