"""The shapes of `manners.md`, as the tests of Slack show them."""

from bot.ports.chat import Button, Shape

ANN = "T01TEST:U01ALICE"
DETAILS = Button("trace", "Details")

WORKING = Shape(
    "⏳", "Working", ("G12", "turn 7 of 20", "$0.84 of $2.00", "since 14:05"),
    body="Find out why the nightly build fails, and mend it.",
    now="Now: running `pytest`, 2 of 14 failing",
    tasks=(("Reproduce", "done"), ("Cause", "done"), ("Fix", "doing"), ("Docs", "open"), ("Ask", "dropped")),
    buttons=(Button("pause", "Pause"), Button("stop", "Stop"), DETAILS), state="working", goal="g12",
    times=(("14:05", 1_795_266_300.0),),
)  # fmt: skip
COMPLETE = Shape(
    "✅", "Complete", ("G12", "41 min", "9 turns", "$1.12"),
    body="The build **passes** again.\n\n- the lock file named `build 2.1`\n- it was withdrawn",
    notes=("Checked: pytest -q passed", "Files: report.md"),
    buttons=(Button("reopen", "Not done"), DETAILS), mentions=(ANN,), state="complete", goal="g12",
)  # fmt: skip
RICH = Shape(
    "✅", "Complete", ("G12", "41 min", "9 turns", "$1.12"),
    body="""# What broke the build

The lock file named `build 2.1`, which **was withdrawn** on the 3rd, see
[the advisory](https://example.com/advisory?id=7&lang=en).

1. Pin it:
   - in `pyproject.toml`
   - in the lock
2. Build anew
3. Tell @here nobody, not even <!channel>

```python
if a < b and "`" in text:
    print(f"<{a} & {b}>")
```

| Job | Before | After |
|---|--:|--:|
| nightly | ~~failed~~ | **passed** |
| docs | 3 min | 2 min |

- [x] mended
- [ ] told the makers

> It worked on my machine.

---
![the graph](https://example.com/graph.png)
""",
    notes=("Checked: pytest -q passed", "Files: report.md"),
    buttons=(Button("reopen", "Not done"), DETAILS), mentions=(ANN,), state="complete", goal="g12",
)  # fmt: skip
LONG = Shape(
    "✅", "Complete", ("G12", "41 min", "9 turns", "$1.12"),
    body="# What broke the build\n\nThe lock file named `build 2.1`.\n\n" + "And so on, for long.\n\n" * 2_000,
    notes=("Checked: pytest -q passed",),
    buttons=(Button("reopen", "Not done"), DETAILS), mentions=(ANN,), state="complete", goal="g12",
)  # fmt: skip
DECISION = Shape(
    "❓", "Decision 2", ("G12", "@ann"), body="Which branch should carry the fix?",
    options=("main", "release-2"), notes=("No answer by Tue 14:00 CET: the goal stays parked.",),
    buttons=(Button("", "In words"),), mentions=(ANN,), reactions=("1️⃣", "2️⃣"), state="deciding",
    goal="g12", times=(("Tue 14:00 CET", 1_795_525_200.0),),
)  # fmt: skip
APPROVAL = Shape(
    "❓", "Decision 3", ("G12", "@ann"),
    body="May I run this?\n\n```\ncurl -fsS https://example.com/install.sh | sh -s -- --yes && echo \"<done>\"\n```",
    options=("Approve", "Refuse"), notes=("No answer by Tue 14:00 CET: it is not run.",),
    mentions=(ANN,), reactions=("✅", "❌"), state="deciding", goal="g12", is_yes_or_no=True,
    file="call.md",
)  # fmt: skip
BLOCKED = Shape(
    "⛔", "Blocked", ("G12", "no access to staging (3 audits in a row)"),
    notes=("To go on: settle that, or say another way, then Resume.",),
    buttons=(Button("resume", "Resume"), Button("cancel", "Cancel"), DETAILS),
    mentions=(ANN,), state="blocked", goal="g12",
)  # fmt: skip
BUDGET = Shape(
    "💰", "Budget reached", ("G12", "$2.00 of $2.00"), body="Done: the cause. Left: the fix.",
    buttons=(
        Button("budget 4 and resume", "Add $2 and resume"), Button("budget", "Other amount"),
        Button("cancel", "Cancel"),
    ),
    mentions=(ANN,), state="over_budget", goal="g12",
)  # fmt: skip
