"""The sentences in English about goals, decisions and the terminal; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

CHATS: Final[Mapping[str, str]] = {
    # States, as the head of a status message.
    "state.ready": "Queued",
    "state.working": "Working",
    "state.auditing": "Evaluating",
    "state.waiting": "Waiting",
    "state.deciding": "Decision needed",
    "state.paused": "Paused",
    "state.blocked": "Blocked",
    "state.over_budget": "Budget reached",
    "state.complete": "Complete",
    "state.cancelled": "Cancelled",
    # Facts behind the head.
    "goal": "G{number}",
    "turn_of": "turn {turn} of {most}",
    "turns.one": "1 turn",
    "turns.many": "{n} turns",
    "since": "since {time}",
    "until": "until {time}",
    "by": "by {name}",
    "of": "{part} of {whole}",
    "at_least": "at least {amount}",
    "estimated": "{amount} of it estimated",
    "tokens": "{n} tokens",
    "hours": "{n} h of work",
    "duration.s": "{s} s",
    "duration.min": "{min} min",
    "duration.h": "{h} h {min} min",
    "duration.d": "{d} d {h} h",
    "mention": "@{name}",
    "somebody": "somebody",
    "weekdays": "Mon Tue Wed Thu Fri Sat Sun",
    "months": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "moment.week": "{weekday} {time} {zone}",
    "moment.date": "{day} {month} {time} {zone}",
    "list_of": ", ",
    # Lines of the status message.
    "now": "Now: {what}",
    "now.wrap_up": "writing up what is done and what is left",
    "wait.time": "It goes on at that time.",
    "wait.process": "It waits for a process: {ref}",
    "wait.probe": "It looks again and again: {ref}",
    "wait.message": "It waits for a message here.",
    "status.decision": "It waits for the answer to decision {number}.",
    "status.paused": "`resume` goes on.",
    "status.opening": "It begins in a moment.",
    # Buttons.
    "button.pause": "Pause",
    "button.stop": "Stop",
    "button.resume": "Resume",
    "button.cancel": "Cancel",
    "button.details": "Details",
    "button.not_done": "Not done",
    "button.add": "Add {amount} and resume",
    "button.other_amount": "Other amount",
    "button.words": "In words",
    # Complete.
    "complete.empty": "It is done; the agent left no words about it.",
    "complete.checked": "Checked: {note}",
    "complete.files": "Files: {names}",
    # Blocked: what stands in the way, then what to do.
    "blocked.audits": "{note} (3 audits in a row)",
    "blocked.audits.bare": "three audits in a row found it blocked",
    "blocked.audits.mend": "To go on: settle that, or say another way, then Resume.",
    "blocked.continuations": "all {allowance} continuations are used",
    "blocked.continuations.mend": (
        "To go on: Resume gives it {allowance} more; better, say first what to do differently."
    ),
    "blocked.stall": "three turns in a row brought nothing new",
    "blocked.stall.mend": "To go on: say what to do differently, then Resume.",
    "blocked.stall:same_reply": "the same reply three times in a row",
    "blocked.stall:no_tool": "three turns in a row that looked at nothing and changed nothing",
    "blocked.failed": "a turn failed ({detail})",
    "blocked.failed.mend": "To go on: Resume tries again from where it was.",
    "blocked.failed:overload": "the model's endpoint was overloaded for 24 hours",
    "blocked.failed:overload.mend": "Its work is kept. To go on: Resume when the endpoint is well.",
    "blocked.failed:rate_limit": "the model's endpoint limited us for 24 hours",
    "blocked.failed:rate_limit.mend": "Its work is kept. To go on: Resume later.",
    "blocked.failed:timeout": "the model's endpoint answered nothing in time for 24 hours",
    "blocked.failed:timeout.mend": "Its work is kept. To go on: Resume when the endpoint is well.",
    "blocked.failed:network": "the model's endpoint was out of reach for 24 hours",
    "blocked.failed:network.mend": "Its work is kept. To go on: Resume when the network is well.",
    "blocked.failed:invalid_request": "the model refused the request as invalid",
    "blocked.failed:invalid_request.mend": (
        "To go on: edit the objective, then Resume. `trace` shows where it happened."
    ),
    "blocked.failed:refusal": "the model declined to do this",
    "blocked.failed:refusal.mend": "To go on: edit the objective so that it can be done.",
    "blocked.failed:auth": "the model's endpoint refused the key",
    "blocked.failed:auth.mend": "To go on: whoever runs Headway mends the key, then Resume.",
    "blocked.failed:billing": "the model's account has a billing problem",
    "blocked.failed:billing.mend": "To go on: whoever runs Headway mends the bill, then Resume.",
    "blocked.failed:permission": "the key may not use this model",
    "blocked.failed:permission.mend": (
        "To go on: whoever runs Headway allows the model or names another, then Resume."
    ),
    "blocked.failed:not_found": "the endpoint does not have this model",
    "blocked.failed:not_found.mend": (
        "To go on: whoever runs Headway names another model, then Resume."
    ),
    "blocked.audit": "two audits in a row failed ({detail})",
    "blocked.audit.mend": "Its work is kept. To go on: Resume tries again.",
    "blocked.audit:timeout": "two audits in a row got no answer in time",
    "blocked.audit:network": "two audits in a row could not reach the audit model",
    "blocked.audit:overload": "two audits in a row met an overloaded audit model",
    "blocked.audit:rate_limit": "two audits in a row were over the audit model's rate limit",
    "blocked.audit:refusal": "the audit model declined twice in a row to judge this",
    "blocked.audit:unreadable": "the audit model gave two unreadable answers in a row",
    "blocked.audit:auth": "the audit model's endpoint refused the key twice",
    "blocked.audit:auth.mend": "To go on: whoever runs Headway mends the key, then Resume.",
    "blocked.audit:billing": "the audit model's account has a billing problem",
    "blocked.audit:billing.mend": "To go on: whoever runs Headway mends the bill, then Resume.",
    "blocked.audit:permission": "the key may not use the audit model",
    "blocked.audit:permission.mend": (
        "To go on: whoever runs Headway allows the model or names another, then Resume."
    ),
    "blocked.audit:not_found": "the endpoint does not have the audit model",
    "blocked.audit:not_found.mend": (
        "To go on: whoever runs Headway names another audit model, then Resume."
    ),
    "blocked.gate": "the check {detail} could not run, three times in a row",
    "blocked.gate.mend": "To go on: mend the check, then Resume.",
    "blocked.no_answer": "no answer from {name}",
    "blocked.no_answer.mend": "To go on: answer in this thread, or say another way.",
    "blocked.other": "{detail}",
    "blocked.other.mend": "To go on: say what to do, then Resume.",
    # Budget.
    "budget.tasks": "Done: {done}. Left: {left}.",
    "budget.nothing": "nothing",
    "budget.turns": "{turns} were worked; there is no list of tasks. Its last words:\n{reply}",
    "budget.silent": "{turns} were worked; nothing was said yet.",
    # Decisions.
    "decision": "Decision {number}",
    "decision.deadline": "No answer by {time}: the goal stays parked.",
    "decision.deadline.approval": "No answer by {time}: it counts as no.",
    "decision.in_words": "Or answer in words.",
    "decision.parked": (
        "Three waits on the same thing ({ref}) brought nothing new. Wait on, or do something else?"
    ),
    "decision.empty": "The agent needs you and did not say what for. What should it do?",
    "decision.reminder": "Reminder",
    "decision.answered": "answered by {name}",
    "decision.answered.came": "→ {answer}",
    "decision.expired": "expired",
    "decision.expired.came": "→ No answer in time.",
    "decision.expired.came.approval": "→ No answer in time: it counted as no.",
    "decision.withdrawn": "withdrawn",
    "decision.withdrawn.came": "→ The goal moved on without it.",
    "words.assent": (
        "ok|okay|k|sure|yep|yeah|yes please|go|go ahead|do it|fine|good|great|looks good|lgtm|done|agreed|"
        "nope|no thanks|not yet|👍|👎"
    ),
    "words.greeting": "hi|hello|hey|thanks|thank you|thx|good morning|good evening",
    "words.vague": (
        "fix do make finish solve handle improve continue go start run work try help it this that "
        "thing things something stuff them all everything me us please now again on the a better "
        "work works working done"
    ),
    # Ordinary turns.
    "answer.empty": "There was nothing to say to that.",
    "answer.failed": "That could not be answered ({detail}). Say it again later.",
    "answer.budget": "That took more than an ordinary turn may cost. Start a goal for it.",
    "answer.stopped": "Stopped.",
    "notice": "{reason}",
    # Answers to commands.
    "said.start_how": "To start a goal: `/goal <objective>`. `/goal help` shows the rest.",
    "said.hello": "Hello. To start a goal: `/goal <objective>`, for example `/goal {example}`.",
    "said.overview.none": "You have no live goals here.",
    "said.overview.head": "For example:",
    "said.overview.example": "- `/goal {example}`",
    "said.not_here": "Not in this version.",
    "said.not_here.text": (
        "Not in this version. To use these words as an objective, put them in quotes: "
        '`/goal "{text}"`'
    ),
    "said.no_such_goal": "There is no {goal} in this room. `/goal list` shows the goals here.",
    "said.no_goal": "You have no live goal in this room. Name one (`/goal {verb} G1`).",
    "said.no_goal_here": "There is no goal in this thread. Name one (`{verb} G1`).",
    "said.which": "Which one? Say it with its number:\n{lines}",
    "said.which.line": "{n}. `{verb} {goal}` — {objective}",
    "said.paused": "{goal} is paused. `resume` goes on.",
    "said.stopped": "{goal} is stopped. `resume` goes on.",
    "said.resumed": "{goal} goes on.",
    "said.resumed.reattach": "{goal} is active already; a worker looks at it now.",
    "said.resumed.decision_open": "{goal} is back at its open decision {number}; answer it above.",
    "said.resumed.wait_open": "{goal} waits again, as before.",
    "said.cancel_sure": (
        "Cancel {goal} for good? It cannot be resumed. Say `cancel{name}` again within a minute, "
        "or `cancel{name} yes`."
    ),
    "said.cancelled": "{goal} is cancelled.",
    "said.edited": "The objective of {goal} is now:\n> {new}\n\nIt was:\n> {old}",
    "said.budget_set.set": "{goal} has {budget} now; {spent} are spent.",
    "said.budget_set.resumed": "{goal} has {budget} now and goes on.",
    "said.budget_set.resume": "{goal} has {budget} now. `resume` goes on.",
    "said.budget_set.still": (
        "{goal} has {budget} now, and still nothing left to go on with: {used}. "
        "Raise that too: `budget {raise_by} and resume`."
    ),
    "said.budget": "{goal}: {spent} spent. Limits: {budget}.",
    "said.budget.none": "none",
    "reopened.objective": "{old}\n\nThis was taken for done, and is not: {missing}",
    "said.reopened": "{new} goes on where {goal} ended.",
    "said.list.empty": "No goals here yet. `/goal <objective>` starts one.",
    "said.list.empty.live": "No live goals here. `/goal list room` shows all.",
    "said.list.line": "- **{goal}** {state} · {facts} — {objective}",
    "said.list.more": "… and {n} more.",
    "said.tasks.empty": "{goal} has no list of tasks.",
    "said.trace.head": "The last {n} of {total} journal entries of {goal}:",
    "said.help.head": "What I take, as `/goal …` in the room, or the bare word in a goal's thread:",
    "said.help.line": "- `{syntax}` {help}",
    "said.help.verb": "`{syntax}`: {help}\n\nFor example: `{example}`",
    "said.help.foot": (
        "Every command takes a goal (`pause G12`). What a card (❓) asks is answered in the goal's thread "
        "in the card's own words, such as `approve 1`. All else said there is for its agent; `//` in "
        "front keeps it out."
    ),
    "said.help.unknown": "There is no verb `{verb}`. `help` shows them all.",
    "said.secret": (
        "What you said holds the value that {mark} stands for. It is left out of all that I keep and "
        "send. Others may have read it here: if they should not know it, change it."
    ),
    "said.failed": "That could not be handled. Say it again. (ref {ref})",
    # Refusals, by code.
    "refused.final": (
        "{goal} has ended and does not change any more. `reopen <what is missing>` goes on from it, "
        "`fork` from one of its checkpoints."
    ),
    "refused.already_paused": "{goal} is paused already. `resume` goes on.",
    "refused.active": "{goal} is active already.",
    "refused.open_decision": "{goal} waits for the answer to decision {number}. Answer it first.",
    "refused.no_money": (
        "{goal} has nothing left to go on with: {used}. Raise it: `budget {raise_by} and resume`."
    ),
    "refused.stays": "{goal} does nothing now ({state}). `resume` goes on, `cancel` ends it.",
    "refused.too_late": "Too late: that decision is no longer open.",
    "refused.over_budget": (
        "{goal} has reached its budget: {used}. Raise it: `budget {raise_by} and resume`."
    ),
    "refused.one_goal": (
        "This thread has a live goal, {goal}. Say it in the room to start another, or `edit` it."
    ),
    "refused.not_final": "{goal} has not ended: say what is missing in its thread.",
    "refused.other": "{message}",
    # Bad input.
    "bad.empty": "An objective needs words. Say what should be true when it is done.",
    "bad.empty.ask": "`ask` needs a question behind it: `ask where is the build log?`",
    "bad.empty.edit": "`edit` needs the new objective behind it.",
    "bad.empty.reopen": "`reopen` needs what is missing behind it.",
    "bad.lone": (
        "`{verb}` needs more behind it: `/goal {syntax}`. To use the word as an objective, put it in "
        'quotes: `/goal "{verb}"`'
    ),
    "bad.misspelt": (
        "`{text}` is no command. Did you mean `{meant}`? For a new goal, say what should be true "
        "when it is done."
    ),
    "bad.vague": (
        "Nobody could tell when `{text}` is done. Say what should be true then, and of what: "
        "for example `/goal make the tests in billing/ pass`."
    ),
    "bad.long": (
        "That is {size} KB; at most {most} KB are taken. Put it in a file in the workspace and "
        "name the file."
    ),
    "bad.nul": "The message holds a NUL character and was not taken. Send it without.",
    "bad.surrogate": (
        "The message holds characters that are no valid text and was not taken. Send it as UTF-8."
    ),
    "bad.amount": (
        "That is no amount. Say for example `budget 5 USD`, `budget +2` or `budget 500k tokens`."
    ),
    "bad.negative_budget": "A budget cannot be negative. Give what it may spend: `budget 5 USD`.",
    "bad.huge_budget": "That is more than a budget can be. Give a smaller one.",
    "bad.least_usd": "A budget is at least {least}. Give more.",
    "bad.least_tokens": "A budget is at least {least} tokens. Give more.",
    "bad.least_hours": "A budget is at least a minute of work. Give more.",
    "bad.nothing_left": (
        "{goal} has nothing left of its budget to go on with. Start a new goal: "
        "`/goal <objective>` in the room."
    ),
    "bad.spent_already": "{spent} are spent already. Give more than that, or `stop` it.",
    # Verbs.
    "verb.start": "start a goal",
    "verb.start.example": "write a haiku about tides into tides.txt",
    "verb.ask": "ask something: one answer, nothing is changed",
    "verb.ask.example": "ask what did the last run print?",
    "verb.status": "how it stands",
    "verb.status.example": "status G12",
    "verb.list": "the live goals; `mine` or `room` with those that ended",
    "verb.list.example": "list mine",
    "verb.pause": "rest after the running step",
    "verb.pause.example": "pause G12",
    "verb.resume": "go on",
    "verb.resume.example": "resume G12",
    "verb.stop": "stop now, in the middle of the step",
    "verb.stop.example": "stop",
    "verb.cancel": "end it for good; asks once",
    "verb.cancel.example": "cancel G12",
    "verb.reopen": "a new goal that goes on where a complete one ended",
    "verb.reopen.example": "reopen the tests are missing",
    "verb.edit": "change the objective",
    "verb.edit.example": "edit write it into ocean.txt instead",
    "verb.budget": "show or set what it may spend: `5 USD`, `+2`, `500k tokens`, `6 h`",
    "verb.budget.example": "budget +2 and resume",
    "verb.tasks": "its list of tasks, with evidence",
    "verb.tasks.example": "tasks G12",
    "verb.trace": "what its journal says",
    "verb.trace.example": "trace G12",
    "verb.help": "this list, or one verb",
    "verb.help.example": "help budget",
    # The terminal.
    "terminal.title": "Headway",
    "terminal.hint.room": "/goal <objective> starts a goal · /threads · /enter G1 · /quit",
    "terminal.hint.thread": "words go to the agent · pause · stop · help · /back to the room",
    "terminal.local": (
        "Of this screen: `/threads` lists the threads, `/enter G1` goes into one, `/back` leaves "
        "it, `/delete` takes your last message back, `/quit` ends."
    ),
    "terminal.sent": "…",
    "terminal.taken": "👀 taken",
    "terminal.no_thread": "There is no thread {name}. `/threads` shows them.",
    "terminal.threads.empty": "No threads yet. `/goal <objective>` opens one.",
    "terminal.entered": "In the thread of {name}.",
    "terminal.back": "Back in the room.",
    "terminal.attached": "{name} ({size}) goes with what you say next.",
    "terminal.attach_how": "`/attach PATH` gives a file with what you say next.",
    "terminal.detached": "Goals go on without this screen.",
    "terminal.left": "Goodbye. What is under way goes on when Headway runs again.",
    "terminal.ending": "The running step may end, at most {s:g} s; Ctrl-C ends it at once.",
    "terminal.starting": "Starting Headway",
    "terminal.gone": (
        "The Headway that works here has ended; its goals rest. This screen waits until one runs "
        "again (`headway run`); /quit leaves."
    ),
    "terminal.again": "Headway is back, and the goals go on.",
    "terminal.running": (
        "Headway works as process {pid} in {folder}. `headway chat` joins it; Ctrl-C stops it."
    ),
    "terminal.needs_you": "{goal} waits for a person, and there is no more input.",
    "terminal.refused": "Nothing was started. `/goal why` in `headway chat` says why.",
    "terminal.unknown_local": (
        "There is no {name} here. What goals take follows `/goal`, as in `/goal help`. {local}"
    ),
}
