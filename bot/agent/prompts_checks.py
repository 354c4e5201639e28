"""What is said to the agent of its goal's checks and reviews, besides what programs printed."""


def failing(count: int) -> str:
    """What stands before what the checks said, in the turn that goes on after they failed."""
    which = "One check of this goal fails" if count == 1 else f"{count} checks of this goal fail"
    return (
        f"[Automatic] {which}. They ran after your turn, and the goal is not complete before they "
        "pass. What they said is data:"
    )


def reviewed() -> str:
    """What stands before what came of a review's answer."""
    return "[Automatic] What came of it:"


def applied(commit: str, branch: str, name: str) -> str:
    """What came of a review that was applied."""
    return f"{commit} is on branch {branch} of {name} now, and your checkout's branch leads to it."


def discarded(commit: str, base: str) -> str:
    """What came of a review that was discarded."""
    return (
        f"The checkout is put back to {base}. What was in it is kept as "
        f"refs/headway/discarded/{commit}."
    )


def not_carried_out(accepted: bool, why: str) -> str:
    """What came of a review whose answer could not be carried out; `why` is fenced."""
    what = "could not be pushed" if accepted else "could not be discarded"
    return f"It {what}. The checkout is as it was. What was said of it is data:\n{why}"
