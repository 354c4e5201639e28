"""What people said yes to, for who looks at a goal: its plan, and what was allowed beyond its profile. Pure."""

from bot.chat.cards import Allowed
from bot.chat.facts import Facts, Manner
from bot.chat.offers import grant_text


def allowed_lines(facts: Facts, manner: Manner) -> tuple[str, ...]:
    """`Allowed by ben: connections to pypi.org`, a line a permission of the goal."""
    if facts.goal.is_final:
        return ()
    givers = {one.grant: one for one in facts.allowed}
    lines = []
    for grant in facts.goal.grants:
        # What a copy of another goal brought along was given there.
        given = givers.get(grant, Allowed("", "goal", grant))
        what = grant_text(grant, facts, manner) or manner.texts("allowed.gone")
        key = "allowed.line.always" if given.scope == "always" else "allowed.line"
        lines.append(manner.texts(key, name=facts.name(given.by, manner.texts), what=what))
    return tuple(lines)


def plan_line(facts: Facts, manner: Manner) -> str:
    """Whose yes the plan has; empty where the goal has no approved plan."""
    if not facts.goal.plan or facts.goal.planning:
        return ""
    by = next((one.by for one in facts.allowed if one.grant is None), "")
    name = facts.name(by, manner.texts)
    return manner.texts("plan.approved" if by else "plan.approved.bare", name=name)
