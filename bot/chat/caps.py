"""What is said about limits: how much of one is spent, which one holds a goal, what raises it. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from bot.chat.amounts import count, usd
from bot.chat.facts import Facts, Manner
from bot.chat.times import moment
from bot.goals.goal import FINAL, State, Wait
from bot.goals.money import NANO
from bot.ports.chat import Shape
from bot.ports.mail import Due

WARN_AT: Final = 0.8
"""Of a limit, from which on the status message says so (design, "Money")."""
_QUIET: Final = FINAL | {State.OVER_BUDGET, State.BLOCKED}
"""States whose message tells what was spent, or where nothing more is."""


def short_usd(nano: int) -> str:
    """`$10`, `$0.05`: a limit as people write it."""
    return usd(nano).removesuffix(".00")


def warnings(facts: Facts, manner: Manner) -> tuple[str, ...]:
    """One line about every limit of which four fifths are spent, or nothing."""
    if facts.goal.state in _QUIET:
        return ()
    near = [(part, what) for part, what in _parts(facts, manner) if part >= WARN_AT]
    if not near:
        return ()
    (part, what), *more = sorted(near, key=lambda one: -one[0])
    texts = manner.texts
    rest = "".join(texts("warning.more", share=_percent(p), what=w) for p, w in more)
    return (texts("warning", share=_percent(part), what=what) + rest,)


def held_by(wait: Wait, facts: Facts, manner: Manner) -> str:
    """What holds the goal, as its status message says it."""
    scope, _, limit = wait.ref.partition(":")
    owner = facts.name(facts.goal.owner, manner.texts)
    if wait.kind == "slot":
        return manner.texts(f"wait.slot.{scope}", n=limit, name=owner)
    what = _upper(cap_of(scope, int(limit), owner, manner, in_tokens=wait.tokens > 0))
    return manner.texts("wait.cap", what=what)


def refusal(wait: Wait, facts: Facts, manner: Manner) -> dict[str, str]:
    """The values of the sentence that says why a held goal is not resumed."""
    if wait.kind == "slot":
        return {"what": held_by(wait, facts, manner), "time": "", "mend": ""}
    scope, _, limit = wait.ref.partition(":")
    owner = facts.name(facts.goal.owner, manner.texts)
    return {
        "what": cap_of(scope, int(limit), owner, manner, in_tokens=wait.tokens > 0),
        "time": moment(wait.until, facts.now, manner.zone, manner.texts),
        "mend": _mend(scope, int(limit), manner, in_tokens=wait.tokens > 0),
    }


def persons_of(due: Due) -> tuple[str, ...]:
    """The person whose cap the post is about, or nobody."""
    person = json.loads(due.reason)["person"]
    return (person,) if person else ()


def reached_shape(due: Due, names: Mapping[str, str], now: float, manner: Manner) -> Shape:
    """The post that a cap is reached, one a room."""
    said, texts = json.loads(due.reason), manner.texts
    scope, limit, in_tokens = said["cap"], said["limit"], said["in_tokens"]
    name = names.get(said["person"]) or texts("somebody")
    return Shape(
        "💰",
        texts("cap.head"),
        (cap_of(scope, limit, name, manner, in_tokens=in_tokens),),
        body=texts("cap.post", time=moment(said["until"], now, manner.zone, texts)),
        notes=(_mend(scope, limit, manner, in_tokens=in_tokens),),
        mentions=persons_of(due),
    )


def cap_named(scope: str, limit: int, name: str, manner: Manner, *, in_tokens: bool = False) -> str:
    """`ann's $10 for today`; of a room that is given by name, `console:ops's $10 for today`."""
    key = "cap.person" if scope == "room" and name else f"cap.{scope}"
    shown = manner.texts("tokens", n=count(limit)) if in_tokens else short_usd(limit)
    return manner.texts(key, name=name, limit=shown)


def cap_of(scope: str, limit: int, person: str, manner: Manner, *, in_tokens: bool = False) -> str:
    """`ann's $10 for today`; of a room it is said there, and names nobody."""
    name = person if scope == "person" else ""
    return cap_named(scope, limit, name, manner, in_tokens=in_tokens)


def _parts(facts: Facts, manner: Manner) -> Iterator[tuple[float, str]]:
    goal, texts = facts.goal, manner.texts
    budget, ledger = goal.budget, goal.ledger
    if budget.nano_usd:
        limit = short_usd(budget.nano_usd)
        yield ledger.nano_usd / budget.nano_usd, texts("cap.goal", limit=limit)
    if budget.tokens:
        limit = texts("tokens", n=count(budget.tokens))
        yield ledger.tokens / budget.tokens, texts("cap.goal", limit=limit)
    if budget.active_s:
        limit = texts("hours", n=f"{budget.active_s / 3600:.1f}".removesuffix(".0"))
        yield ledger.active_s / budget.active_s, texts("cap.goal", limit=limit)
    owner = facts.name(goal.owner, texts)
    for share in facts.shares:
        if share.limit:
            yield share.spent / share.limit, cap_of(share.scope, share.limit, owner, manner)


def _mend(scope: str, limit: int, manner: Manner, *, in_tokens: bool) -> str:
    setting = f"cap_{scope}_{'tokens' if in_tokens else 'usd'}"
    if scope != "room" or in_tokens:
        return manner.texts("cap.post.raise", setting=setting)
    # Its dollars are all that a room itself sets.
    return manner.texts("cap.post.raise.room", setting=setting, more=max(1, 2 * limit // NANO))


def _percent(part: float) -> int:
    return int(100 * part + 1e-9)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
