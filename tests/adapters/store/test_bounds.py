"""What is known at most of the day's caps, without a look at the rows."""

from adapters.store.bounds import Bounds, scoped
from bot.goals.caps import Amount, Caps, Scope, Sums

HERE = scoped("2026-11-30", "ann", "den")
CAPS = Caps(nano_usd={"person": 100, "room": 200}, tokens={"all": 1_000})


def sums(nano_usd: int = 0, tokens: int = 0) -> Sums:
    scopes: tuple[Scope, ...] = ("person", "room", "all")
    return {scope: Amount(nano_usd, tokens) for scope in scopes}


def test_what_was_never_read_fits_nothing() -> None:
    bounds = Bounds()

    assert not bounds.fits(CAPS, HERE, Amount(1))


def test_a_call_fits_while_all_that_was_reserved_and_booked_leaves_room() -> None:
    bounds = Bounds()
    bounds.begin(HERE, sums(30), sums(20))

    assert bounds.fits(CAPS, HERE, Amount(50))
    bounds.grow(HERE, Amount(50))
    assert not bounds.fits(CAPS, HERE, Amount(1))


def test_what_a_unit_has_spent_itself_counts() -> None:
    bounds = Bounds()
    bounds.begin(HERE, sums(30), sums(20))

    assert bounds.fits(CAPS, HERE, Amount(40), since=Amount(10))
    assert not bounds.fits(CAPS, HERE, Amount(41), since=Amount(10))


def test_a_refund_leaves_a_bound_as_it_is_until_the_rows_are_read() -> None:
    bounds = Bounds()
    bounds.begin(HERE, sums(90), sums())
    bounds.grow(HERE, Amount(-50))

    assert not bounds.fits(CAPS, HERE, Amount(20))
    bounds.begin(HERE, sums(40), sums())
    assert bounds.fits(CAPS, HERE, Amount(20))


def test_what_one_person_spends_counts_in_the_room_of_another() -> None:
    bounds, theirs = Bounds(), scoped("2026-11-30", "ben", "den")
    bounds.begin(HERE, sums(), sums())
    bounds.begin(theirs, sums(), sums())

    bounds.grow(HERE, Amount(90))
    bounds.grow(theirs, Amount(90))

    assert not bounds.fits(CAPS, theirs, Amount(30))
    assert bounds.fits(Caps(nano_usd={"room": 200}), theirs, Amount(20))


def test_calls_of_unknown_price_are_bounded_in_tokens() -> None:
    bounds = Bounds()
    bounds.begin(HERE, sums(tokens=600), sums(tokens=300))

    assert bounds.fits(CAPS, HERE, Amount(0, 100))
    assert not bounds.fits(CAPS, HERE, Amount(0, 101))


def test_another_day_is_read_anew() -> None:
    bounds = Bounds()
    bounds.begin(HERE, sums(), sums())

    assert not bounds.fits(CAPS, scoped("2026-12-01", "ann", "den"), Amount(1))


def test_what_is_forgotten_is_read_anew() -> None:
    bounds = Bounds()
    bounds.begin(HERE, sums(), sums())

    bounds.forget()
    bounds.grow(HERE, Amount(1))

    assert not bounds.fits(CAPS, HERE, Amount(1))
