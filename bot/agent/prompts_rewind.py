"""What is said to the agent of points that a goal was put back to, and of copies of goals."""

from bot.goals.rewinding import Lasting


def who(by: str, owner: str) -> str:
    """A person as the agent hears of them."""
    return "the owner" if by == owner else by or "someone"


def rewound(who: str, lasting: Lasting) -> str:
    """What stands where the conversation goes on after a rewind."""
    told = [f"{name} ({count} times)" if count > 1 else name for name, count in lasting.external]
    if lasting.shared:
        files = "1 file" if lasting.shared == 1 else f"{lasting.shared} files"
        told.append(f"{files} given to the thread")
    done = f" What you did outside since then stays done: {', '.join(told)}." if told else ""
    return (
        f"[Automatic] {who.capitalize()} put the goal back to this point. What was said and done after "
        f"it is gone from this conversation, and the workspace is as it was here.{done} Look before "
        "you do something again."
    )


def said_since(who: str) -> str:
    """What stands before a message that came after the point."""
    return f"[Message from {who}, written after this point, before the goal was put back to it:]"


def objective_since(who: str) -> str:
    """What stands before an objective that was set after the point, and is no more."""
    return f"[The objective was changed by {who} after this point; that is taken back. It was:]"


def not_put_back() -> str:
    """What stands before the paths of files that could not be put back."""
    return "[Automatic] These could not be put back as they were, so look at them first:"


def files_of_before(goal: str) -> str:
    """What an ordinary turn is told where a goal's files are still to be put back."""
    return (
        f"[Automatic] {goal} was put back to an earlier point, but its files are put back only when it "
        "goes on: what is in the workspace now is from after that point, and changes to it will be lost. "
        "Say so where an answer rests on these files."
    )


def copy_of() -> str:
    """What stands before the objective of a goal that goes on from another one's point."""
    return (
        "[A goal, set by its owner: a copy of the one above as it was here, with a workspace of its own. "
        "What that one does from here on is not yours. The objective:]"
    )
