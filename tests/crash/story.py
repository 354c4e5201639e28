"""What a drill plays: who is asked for what, what they answer, and how it is known to be over."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from adapters.console.parse import Edited, Posted

Lines = Sequence[Posted | Edited]
Saying = tuple[str, str, str]
"""The name of a message, by which it is said once; its text; the thread that it is said in."""


@dataclass(frozen=True)
class Story:
    """A story with its people and its model."""

    name: str
    script: str
    """Where the model's answers come from, as `module:function`."""
    objective: str
    says: Callable[[Lines], Iterable[Saying]]
    """What the person says, seeing what is posted."""
    is_over: Callable[[Lines], bool]
    command: str = "/goal"
    environ: Mapping[str, str] = field(default_factory=dict)
    """Settings of the process."""


def name_of(line: Posted | Edited) -> str:
    """What a post is, without what makes it this goal's or this message's own."""
    first, _, rest = line.key.partition(":")
    return f"reply:{rest.partition('.')[0]}" if first == "reply" else rest


def has_settled(lines: Lines) -> bool:
    """The person knows how it ended."""
    return any(name_of(line) == "settle" for line in lines)
