"""Amounts of money, tokens and time, as people write and read them."""

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal

from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.goals.goal import Goal
from bot.goals.limits import LEAST_BUDGET_TOKENS, LIMITS, MOST_HOURS, MOST_TOKENS, MOST_USD
from bot.goals.money import NANO, Budget, Ledger, left_nano_usd, left_tokens

Unit = Literal["usd", "tokens", "hours"]

LEAST_NANO_USD: Final = NANO // 100

_AMOUNT: Final = re.compile(
    r"(?P<sign>[+-]|)\s*(?P<dollar>\$?)\s*(?P<sign2>[+-]|)(?P<number>[0-9]{1,15}(?:[.,][0-9]{1,9})?)"
    r"\s*(?P<scale>[kKmM]?)\s*"
    r"(?P<unit>usd|\$|dollars?|tokens?|tok|h|hours?|)",
    re.IGNORECASE,
)
_SCALE: Final = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class Amount:
    """`value` is in nano-dollars, tokens or seconds, by unit; `is_added` means on top."""

    unit: Unit
    value: int
    is_added: bool = False
    resumes: bool = False


def read_amount(text: str, texts: Texts) -> Amount | None:
    """The amount that the whole text is, or None when it is none.

    Raises:
        BadInput: it is one and cannot be a budget: negative, or absurdly large.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or (match["sign"] and match["sign2"]):
        return None
    unit = _unit(match["dollar"], match["unit"].lower())
    if unit is None or (match["scale"] and unit == "hours"):
        return None
    sign = match["sign"] or match["sign2"]
    number = Decimal(match["number"].replace(",", ".")) * _SCALE[match["scale"].lower()]
    if sign == "-":
        raise BadInput(texts("bad.negative_budget"))
    if number > {"usd": MOST_USD, "tokens": MOST_TOKENS, "hours": MOST_HOURS}[unit]:
        raise BadInput(texts("bad.huge_budget"))
    value = int(number * {"usd": NANO, "tokens": 1, "hours": 3600}[unit])
    return Amount(unit, value, is_added=sign == "+")


def budget_with(goal: Goal, amount: Amount, texts: Texts) -> Budget:
    """The goal's budget with `amount` set or added. Raises as `budget_changed`."""
    return budget_changed(goal.budget, goal.ledger, amount, texts)


def budget_changed(budget: Budget, ledger: Ledger, amount: Amount, texts: Texts) -> Budget:
    """A budget with `amount` set or added; of a new goal, with nothing in its ledger.

    Raises:
        BadInput: less than the least, or no more than what is spent already.
    """
    if amount.unit == "usd":
        nano = amount.value + (budget.nano_usd or 0 if amount.is_added else 0)
        if nano < LEAST_NANO_USD:
            raise BadInput(texts("bad.least_usd", least=usd(LEAST_NANO_USD)))
        _more_than(ledger.nano_usd, nano, usd(ledger.nano_usd), texts)
        return replace(budget, nano_usd=nano)
    if amount.unit == "tokens":
        tokens = amount.value + (budget.tokens or 0 if amount.is_added else 0)
        if tokens < LEAST_BUDGET_TOKENS:
            raise BadInput(texts("bad.least_tokens", least=f"{LEAST_BUDGET_TOKENS:,}"))
        _more_than(ledger.tokens, tokens, texts("tokens", n=count(ledger.tokens)), texts)
        return replace(budget, tokens=tokens)
    seconds = amount.value + (budget.active_s or 0.0 if amount.is_added else 0.0)
    if seconds < 60:
        raise BadInput(texts("bad.least_hours"))
    _more_than(ledger.active_s, seconds, texts("hours", n=_hours(ledger.active_s)), texts)
    return replace(budget, active_s=float(seconds))


def usd(nano: int) -> str:
    """`$0.84`; less than a cent says so."""
    dollars = Decimal(nano) / NANO
    return "<$0.01" if 0 < dollars < Decimal("0.01") else f"${dollars:,.2f}"


def count(n: int) -> str:
    """`950`, `12k`, `1.5M`."""
    for size, sign in ((1_000_000, "M"), (1_000, "k")):
        if n >= size:
            return f"{n / size:.1f}".removesuffix(".0") + sign
    return str(n)


def spent(goal: Goal, texts: Texts) -> str:
    """`$0.84`, or `at least $0.84` where a price is unknown, or tokens where none is known."""
    ledger = goal.ledger
    if ledger.has_unknown_price and ledger.nano_usd == 0:
        return texts("tokens", n=count(ledger.tokens))
    money = usd(ledger.nano_usd)
    return texts("at_least", amount=money) if ledger.has_unknown_price else money


def spent_of(goal: Goal, texts: Texts) -> str:
    """`$0.84 of $2.00`, in the unit whose limit was reached, else in money where it is known."""
    return of_limit(goal, limit_reached(goal) or _shown_unit(goal), texts)


def of_limit(goal: Goal, unit: Unit, texts: Texts) -> str:
    """What is spent of one of the goal's limits."""
    if unit == "tokens":
        whole = texts("tokens", n=count(goal.budget.tokens or 0))
        return texts("of", part=count(goal.ledger.tokens), whole=whole)
    if unit == "hours":
        whole = texts("hours", n=_hours(goal.budget.active_s or 0.0))
        return texts("of", part=_hours(goal.ledger.active_s), whole=whole)
    if goal.budget.nano_usd is None:
        return spent(goal, texts)
    return texts("of", part=spent(goal, texts), whole=usd(goal.budget.nano_usd))


def reached(budget: Budget, ledger: Ledger) -> tuple[Unit, ...]:
    """The limits that leave nothing to go on with, as the rule of Resume sees them."""
    tokens, money = left_tokens(budget, ledger), left_nano_usd(budget, ledger)
    time = budget.active_s
    found: list[Unit] = []
    if time is not None and ledger.active_s >= time:
        found.append("hours")
    if money is not None and money <= 0:
        found.append("usd")
    if tokens is not None and tokens <= LIMITS.audit_held_back_tokens:
        found.append("tokens")
    return tuple(found)


def limit_reached(goal: Goal) -> Unit | None:
    """Which limit stopped a goal that is over budget; None while it is not."""
    if goal.state != "over_budget":
        return None
    budget, ledger = goal.budget, goal.ledger
    used_up = reached(budget, ledger)
    if used_up:
        return used_up[0]
    # The next call did not fit: the limit with the smaller share left.
    tokens, money = left_tokens(budget, ledger), left_nano_usd(budget, ledger)
    if money is None or ledger.has_unknown_price:
        return "tokens"
    if tokens is None or not budget.tokens or not budget.nano_usd:
        return "usd"
    return "tokens" if tokens / budget.tokens < money / budget.nano_usd else "usd"


def raise_of(goal: Goal, unit: Unit, texts: Texts) -> tuple[str, str]:
    """A raise that leaves something to go on with: as it is typed, and as a button shows it."""
    budget, ledger = goal.budget, goal.ledger
    if unit == "usd":
        dollars = 2 * _steps(ledger.nano_usd - (budget.nano_usd or 0), 2 * NANO)
        return f"+{dollars}", f"${dollars}"
    if unit == "tokens":
        thousands = 500 * _steps(ledger.tokens - (budget.tokens or 0), 500_000)
        shown = count(thousands * 1_000)
        return f"+{shown} tokens", texts("tokens", n=shown)
    hours = 2 * _steps(int(ledger.active_s - (budget.active_s or 0.0)), 7200)
    return f"+{hours} h", texts("hours", n=hours)


def _shown_unit(goal: Goal) -> Unit:
    unknown = goal.ledger.has_unknown_price and goal.ledger.nano_usd == 0
    if goal.budget.tokens is not None and (unknown or goal.budget.nano_usd is None):
        return "tokens"
    return "usd"


def _steps(over: int, step: int) -> int:
    """How many steps cover what is over the limit and leave at least half a step."""
    return max(1, -(-(over + step // 2) // step))


def _unit(dollar: str, unit: str) -> Unit | None:
    if unit.startswith("tok"):
        return None if dollar else "tokens"
    if unit.startswith("h"):
        return None if dollar else "hours"
    return "usd"


def _more_than(spent_already: float, limit: float, shown: str, texts: Texts) -> None:
    if limit <= spent_already:
        raise BadInput(texts("bad.spent_already", spent=shown))


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f}".removesuffix(".0")
