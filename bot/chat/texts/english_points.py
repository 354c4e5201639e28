"""The sentences in English of checkpoints, copies and files; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

POINTS: Final[Mapping[str, str]] = {
    "verb.rewind": "go back to a checkpoint: goal, conversation, tasks and files together",
    "verb.rewind.example": "rewind 3",
    "verb.fork": "go on from a checkpoint in a copy, in a thread of its own",
    "verb.fork.example": "fork 3 do it without the library",
    "verb.files": "what it made, and what lies in its workspace",
    "verb.files.example": "files",
    "said.point": "checkpoint {n} (turn {turn}, {time})",
    "said.points.none": "{goal} has no checkpoint yet: there is one at the end of each turn.",
    "said.points.head": "Checkpoints of {goal}, newest first:",
    "said.points.line": "- **{n}** · turn {turn} · {time}{notes}",
    "said.points.plan": "plan approved",
    "said.points.tasks": "{done} of {all} tasks",
    "said.points.no_files": "its files are not kept",
    "said.points.more": "- and {n} older ones",
    "said.points.rewind": "`rewind {n}` goes back to one.",
    "said.points.fork": "`fork {n}` goes on from one in a copy.",
    "said.rewound": (
        "{goal} is back at {point}, and paused. Its files are put back before it works again: "
        "`resume` goes on."
    ),
    "said.rewound.over_budget": (
        "{goal} is back at {point}. Its budget is used up all the same: `budget` raises it."
    ),
    "said.rewound.later": "What came after is kept for now: `rewind {n}` takes this back.",
    "said.rewound.later.without": "What was done after {n} has no files kept: it does not come back.",
    "said.rewound.not_back": ("This cannot be taken back: of what came after, no files were kept."),
    "said.rewound.heard": "What was said since is told to it when it goes on:",
    "said.rewound.heard.more": "- and {n} earlier messages",
    "said.lasting": "This stays done: {what}.",
    "said.lasting.tool": "`{name}`",
    "said.lasting.tools": "`{name}` ({n} times)",
    "said.lasting.posts.one": "1 post here",
    "said.lasting.posts": "{n} posts here",
    "said.lasting.files.one": "1 file that was given",
    "said.lasting.files": "{n} files that were given",
    "said.lasting.approved.one": "1 call that was approved",
    "said.lasting.approved": "{n} calls that were approved",
    "said.forked": (
        "{new} goes on from {point} of {goal}, in a thread of its own, with what is left of the budget. "
        "Nothing that was allowed comes along."
    ),
    "said.files.none": "{goal} has no files yet.",
    "said.files.head": "Files of {goal}:",
    "said.files.line": "- `{path}` · {size} · {origin} · {time}",
    "said.files.made": "made in turn {turn}",
    "said.files.shared": "given in turn {turn}",
    "said.files.nothing_made": "- nothing for you yet",
    "said.files.folders": "In its workspace, as kept last:",
    "said.files.folder": "- `{path}` · {n} files · {size}",
    "said.files.folder.one": "- `{path}` · 1 file · {size}",
    "said.files.hint": "To get one, say so in its thread: share `{path}`",
    "said.files.to_restore": "They are put back to what they were before it works again.",
    "files.rule.drafts": "work in progress; kept at checkpoints",
    "files.rule.artifacts": "for people; kept at checkpoints, each version known",
    "files.rule.notes": "what it wants to remember; kept at checkpoints",
    "files.rule.checkouts": "copies of sources; kept at checkpoints",
    "files.rule.inbox": "what people sent; kept at checkpoints until they take it back",
    "files.rule.cache": "scratch: emptied when the goal ends",
    "files.rule.tmp": "scratch: emptied when the goal ends",
    "files.rule.other": "kept at checkpoints",
    "bad.no_point": "{goal} has no checkpoint {n}: they go from 1 to {last}. `rewind` lists them.",
    "bad.point_without_files": (
        "The files of checkpoint {n} are not kept any more, so {goal} stays as it is. Try another: "
        "`rewind` lists them."
    ),
    "bad.point_unreadable": (
        "What was kept of checkpoint {n} cannot be read, so {goal} stays as it is. Try another: `rewind` "
        "lists them. Who runs me finds the reason in the log."
    ),
    "bad.fork.no_objective": (
        "The objective of {goal} was erased: say what the copy is to reach, behind the number."
    ),
    "refused.no_checkpoint": "That checkpoint is gone meanwhile, and {goal} stays as it is.",
    "refused.no_checkpoints": "Checkpoints are not kept here.",
    "blocked.failed:workspace": "its files could not be put back",
    "blocked.failed:workspace.mend": (
        "To go on: `rewind` to another checkpoint, or look at the log and Resume."
    ),
}
