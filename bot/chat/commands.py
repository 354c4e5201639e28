"""
What each verb does: events for the goal, or an answer where it was asked.

Rule 1: a message's consequence, what is answered, and the mark that it is handled are one
        transaction.
Rule 2: a rule of the goal decides whether it fits; its refusal becomes a sentence by its code.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from bot.chat import views
from bot.chat.desk import LIVE, Desk, Told, is_shared
from bot.chat.forgetting import ForgetCommands
from bot.chat.gate_commands import GateCommands
from bot.chat.gate_words import refuse_unfit_checks
from bot.chat.heard import Heard
from bot.chat.holding import HoldCommands
from bot.chat.money_commands import MoneyCommands
from bot.chat.ownership import Ownership
from bot.chat.parse import Command, is_called, objective
from bot.chat.patience import Chatter, Patience
from bot.chat.people_commands import PeopleCommands
from bot.chat.permission_commands import PermissionCommands
from bot.chat.point_commands import PointCommands
from bot.chat.replies import picking
from bot.chat.repo_commands import refuse_unknown
from bot.chat.rights import Act, may
from bot.chat.secret_commands import SecretCommands
from bot.chat.showing import Showing
from bot.chat.starting import Starting
from bot.chat.verbs import OF_ANYBODY, OF_GOAL
from bot.errors import BadInput, Refused
from bot.goals.events import (
    Cancelled,
    DecisionAnswered,
    Event,
    MessageReceived,
    ObjectiveEdited,
    Paused,
    Resumed,
    Stopped,
)
from bot.goals.goal import Goal, State
from bot.ports.chat import Place
from bot.ports.journal import Applied, Content, Unit
from bot.ports.mail import Thread

CONFIRM_S = 60.0
"""How long the first `cancel` waits for its second (manners.md)."""

PICK_S = 300.0
"""How long a number is the choice from a list that was shown: later it is about something else."""

REPEATED_S = 2.0
"""How long what a press was told is not told again: who presses twice has it before them."""

CARRIED = (MessageReceived, DecisionAnswered, ObjectiveEdited)
"""What people say that a model call carries."""


class Commands:
    """One method a verb; `run` is told which."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.starting = Starting(desk)
        self._showing = Showing(desk)
        self._people = PeopleCommands(desk, self.may)
        self._ownership = Ownership(desk, self.commit)
        self._money = MoneyCommands(desk, self.commit)
        self._gates = GateCommands(desk, self.commit, self.may)
        self._points = PointCommands(desk, self.commit, self.starting)
        self._holding = HoldCommands(desk)
        self._forgetting = ForgetCommands(desk)
        self._permissions = PermissionCommands(desk, self.commit, self.may)
        self._secrets = SecretCommands(desk)
        self._patience, self._chatter = Patience(), Chatter()
        self._repeated = Patience(1, REPEATED_S)
        self._asked_to_cancel: dict[tuple[str, str], float] = {}
        self._picks: dict[tuple[str, Place], tuple[Command, tuple[Goal, ...], float]] = {}

    async def run(self, heard: Heard, command: Command) -> None:
        """Do what the command says.

        Raises:
            Refused, BadInput: it does not fit; nothing has changed.
        """
        texts = self._desk.manner.texts
        if not command.verb.is_served:
            key = "said.not_here.text" if " " in command.text else "said.not_here"
            words = f"{command.verb.name} {command.text}"
            await self.complain(heard, texts(key, text=words))
            return
        verb = command.verb
        is_free = verb.takes in OF_GOAL or verb.name in OF_ANYBODY
        if not is_free and not await self.may(heard, verb.act):
            return
        match command.verb.name:
            case "":
                await self.start(heard, command.text)
            case "plan":
                content = Content(command.text, heard.person, heard.of)
                await self.starting.start(heard, content, plan_first=True)
            case "ask":
                await self.ask(heard, command.text)
            case "spend":
                await self._money.spend(heard, command)
            case "list":
                await self._showing.goals(heard, command.text)
            case "help":
                network = heard.message.place.network
                text = views.help_text(command.text, self._desk.manner, network)
                await self.answer(heard, text)
            case name if name in self._holding.verbs:
                await self._holding.run(heard, command)
            case name if name in self._forgetting.verbs:
                await self._forgetting.run(heard, command)
            case name if name in self._secrets.verbs:
                await self._secrets.run(heard, command)
            case name if name in self._permissions.verbs:
                await self._permissions.run(heard, command)
            case name if name in self._people.verbs:
                await self._people.run(heard, command)
            case name:
                await self._of_goal(name, heard, command)

    async def is_offered(self, heard: Heard) -> bool:
        """Whether the thread's goal is offered to whoever said something in it."""
        return await self._ownership.is_offered(heard)

    async def may(self, heard: Heard, act: Act, goal: Goal | None = None) -> bool:
        """Whether whoever said something may do it; where not, they are told."""
        is_owner = goal is not None and heard.is_owner_of(goal)
        if may(act, heard.roles, is_owner=is_owner, room=heard.room):
            return True
        texts = self._desk.manner.texts
        name = self._name(goal) if goal else ""
        keys = (f"said.may_not.{act}", "said.may_not" if goal else "said.may_not.here")
        await self.complain(heard, texts.first(*keys, goal=name))
        return False

    async def pick(self, heard: Heard, text: str) -> bool:
        """Take a number as the choice from the list that was last shown, if there was one."""
        key = (heard.person, heard.message.place)
        if key not in self._picks or not (text.isascii() and text.isdigit()):
            return False
        command, goals, shown_at = self._picks[key]
        is_late = self._desk.clock.now() - shown_at > PICK_S
        if is_late or heard.message.is_aside or not 1 <= int(text) <= len(goals):
            return False
        del self._picks[key]
        await self.run(heard, replace(command, goal=goals[int(text) - 1].number))
        return True

    async def overview(self, heard: Heard) -> None:
        """The command's bare name: the live goals of whoever said it, and three examples."""
        await self._showing.overview(heard)

    async def start(self, heard: Heard, text: str) -> None:
        """Open a goal: in this thread if it is one, else in the thread of the message."""
        await self.starting.start(heard, Content(text, heard.person, heard.of))

    async def ask(self, heard: Heard, text: str) -> None:
        """An ordinary turn; its answer is posted when it ends."""
        await self.starting.ask(heard, text)

    async def answer(self, heard: Heard, text: str, *, reason: str = "") -> None:
        """Say `text` where the message was said; that is all it causes. `reason` names its buttons."""
        await self._desk.answer(heard, text, reason=reason)

    async def complain(self, heard: Heard, text: str) -> None:
        """The same of what was not understood or may not be; who hears it all the time hears no more."""
        if self._has_heard(heard, text):
            await self._desk.inbox.handled(heard.id)
            return
        who = (heard.person, heard.message.place.room)
        if heard.message.via == "message" and self._patience.ends(who, self._desk.clock.now()):
            text = f"{text}\n\n{self._desk.manner.texts('said.enough')}"
        await self.answer(heard, text)

    def _has_heard(self, heard: Heard, text: str) -> bool:
        """Whether they were told so often enough."""
        message, now = heard.message, self._desk.clock.now()
        who = (heard.person, message.place.room)
        # Whoever sits at a console, presses a button or fills in a form is no machine that talks back;
        # and a form is sent off once.
        if message.via == "form":
            return False
        if message.via != "message":
            return self._repeated.has_ended((*who, text), now)
        return message.place.network != "console" and self._patience.has_ended(who, now)

    async def lets_be(self, heard: Heard) -> bool:
        """Leave it alone where somebody goes on and on without calling the bot, as machines do."""
        message = heard.message
        who = (heard.person, message.place.room)
        if not is_shared(message.place) or is_called(message.text):
            return False
        if not self._chatter.is_endless(who, message.at):
            return False
        if self._chatter.is_told(who, message.at):
            await self._desk.inbox.handled(heard.id)
        else:
            await self.answer(heard, self._desk.manner.texts("said.endless"))
        return True

    async def commit(
        self,
        heard: Heard,
        goal: Goal,
        *events: Event,
        contents: tuple[Content, ...] = (),
        told: Told | None = None,
    ) -> None:
        """Commit what the message caused, with what is answered, and let the worker look."""
        urgent = any(isinstance(e, Paused | Stopped | Cancelled) for e in events)
        if not urgent:
            told = await self._desk.told_held(heard, goal.session, goal.owner, told)
        reply = await self._desk.told_reply(heard, told)
        unit = Unit(goal.id, events, contents, handled=(heard.id,), reply=reply, urgent=urgent)
        applied = await self._desk.journal.commit(unit)
        if any(isinstance(event, CARRIED) for event in events):
            self._desk.taken(heard.message, applied.goal)
        self._desk.wake(goal.id, applied.instructions)
        self._desk.posted()

    async def _of_goal(self, name: str, heard: Heard, command: Command) -> None:
        goal = await self._goal(heard, command)
        if goal is None:
            return
        is_offered = command.verb.name in self._ownership.verbs
        if not is_offered and not await self.may(heard, command.verb.act, goal):
            return
        does: dict[str, Callable[[Heard, Goal, Command], Awaitable[None]]] = {
            "status": self._showing.status,
            "pause": self._pause,
            "stop": self._stop,
            "resume": self._resume,
            "cancel": self._cancel,
            "edit": self._edit,
            "reopen": self._reopen,
            "budget": self._money.budget,
            "tasks": self._showing.tasks,
            "trace": self._showing.trace,
            "files": self._showing.files,
            "rewind": self._points.rewind,
            "fork": self._points.fork,
            "gate": self._gates.gate,
            "profile": self._permissions.profile,
            "owner": self._ownership.hand_over,
            "accept": self._ownership.accept,
            "decline": self._ownership.decline,
        }
        try:
            if name == "resume" or (command.amount is not None and command.amount.resumes):
                await self._ownership.refuse_without_owner(goal)
            await does[name](heard, goal, command)
        except Refused as error:
            await self.refuse(heard, goal, error)

    async def refuse(self, heard: Heard, goal: Goal | None, error: Refused) -> None:
        """Say why it does not fit."""
        texts = self._desk.manner.texts
        now = await self._desk.journal.goal(goal.id) if goal else None
        if error.code == "one_goal" and now is not None:
            now = await self._live_beside(now) or now
        values = {
            "goal": self._name(now) if now else "",
            "state": texts(f"state.{now.state}") if now else "",
            "number": now.decision.number if now and now.decision else "",
            "message": str(error),
            **(self._money.used_up(now) if now else {"used": "", "raise_by": ""}),
            **(await self._money.held(heard, now) if now else {}),
        }
        is_cancelled = error.code == "final" and now is not None and now.state is State.CANCELLED
        code = "cancelled" if is_cancelled else error.code
        await self.complain(heard, texts.first(f"refused.{code}", "refused.other", **values))

    async def _live_beside(self, goal: Goal) -> Goal | None:
        """The goal that lives in the thread of another one."""
        thread = await self._desk.rooms.thread(await self._desk.doors.home(goal.session))
        return await self._desk.journal.goal(thread.goal) if thread and thread.goal else None

    async def _goal(self, heard: Heard, command: Command) -> Goal | None:
        """The goal that a command is about, or None after asking or explaining."""
        rooms, texts = self._desk.rooms, self._desk.manner.texts
        room = heard.message.place
        if command.goal is not None:
            found = await rooms.goals(room=room, number=command.goal)
            if not found:
                name = texts("goal", number=command.goal)
                await self.complain(heard, texts("said.no_such_goal", goal=name))
            return found[0] if found else None
        if heard.goal is not None:
            return heard.goal
        live = await rooms.goals(states=LIVE, room=room)
        mine = tuple(goal for goal in live if heard.is_owner_of(goal))
        if len(mine) == 1:
            return mine[0]
        if not mine:
            key = "said.no_goal" if heard.thread is None else "said.no_goal_here"
            await self.complain(heard, texts(key, verb=command.verb.name))
            return None
        await self._offer(heard, command, mine)
        return None

    async def _offer(self, heard: Heard, command: Command, goals: tuple[Goal, ...]) -> None:
        texts = self._desk.manner.texts
        self._picks[heard.person, heard.message.place] = (command, goals, self._desk.clock.now())
        lines = [
            texts(
                "said.which.line",
                n=number,
                verb=command.verb.name,
                goal=self._name(goal),
                objective=views.one_line(await self._desk.objective(goal)),
            )
            for number, goal in enumerate(goals, 1)
        ]
        # A word alone says all that a button needs; of a longer command the number is its choice.
        is_word = not command.text and command.amount is None
        picks = [f"{command.verb.name} {self._name(goal)}" if is_word else "" for goal in goals]
        reason = picking(
            [(pick, self._name(goal)) for pick, goal in zip(picks, goals, strict=True)]
        )
        await self.answer(heard, texts("said.which", lines="\n".join(lines)), reason=reason)

    async def _pause(self, heard: Heard, goal: Goal, command: Command) -> None:
        await self.commit(heard, goal, Paused(heard.person), told=self._told("said.paused", goal))

    async def _stop(self, heard: Heard, goal: Goal, command: Command) -> None:
        await self.commit(heard, goal, Stopped(heard.person), told=self._told("said.stopped", goal))

    async def _resume(self, heard: Heard, goal: Goal, command: Command) -> None:
        texts = self._desk.manner.texts
        if command.is_confirmed and goal.wait is not None and goal.wait.kind == "cap":
            if await self.may(heard, Act.SETTINGS, goal):
                await self._money.lift(heard, goal)
            return

        def told(applied: Applied) -> str:
            key = f"said.resumed.{applied.rules[-1]}"
            number = applied.goal.decision.number if applied.goal.decision else 0
            known = key if texts.has(key) else "said.resumed"
            return texts(known, goal=self._name(goal), number=number)

        await self.commit(heard, goal, Resumed(heard.person), told=told)

    async def _cancel(self, heard: Heard, goal: Goal, command: Command) -> None:
        key, now = (heard.person, goal.id), self._desk.clock.now()
        asked_at = self._asked_to_cancel.pop(key, None)
        is_sure = command.is_confirmed or (asked_at is not None and now - asked_at <= CONFIRM_S)
        if not is_sure and not goal.is_final:
            self._asked_to_cancel[key] = now
            name = "" if heard.is_thread_of(goal) else f" {self._name(goal)}"
            texts = self._desk.manner.texts
            text = texts("said.cancel_sure", goal=self._name(goal), name=name)
            await self.answer(heard, text, reason=f"sure:{self._name(goal)}")
            return
        told = self._told("said.cancelled", goal)
        await self.commit(heard, goal, Cancelled(heard.person), told=told)

    async def _edit(self, heard: Heard, goal: Goal, command: Command) -> None:
        refuse_unfit_checks(command.text, self._desk.manner.texts)
        await refuse_unknown(self._desk, await self._desk.doors.home(goal.session), command.text)
        content = Content(command.text, heard.person)
        old = await self._desk.objective(goal)
        edited = ObjectiveEdited(heard.person, content.hash)
        quoted = {"new": views.quoted(command.text), "old": views.quoted(old)}
        told = self._told("said.edited", goal, **quoted)
        await self.commit(heard, goal, edited, contents=(content,), told=told)

    async def _reopen(self, heard: Heard, goal: Goal, command: Command) -> None:
        texts = self._desk.manner.texts
        self.starting.refuse_where_off(heard)
        if not goal.is_final:
            raise Refused("The goal has not ended.", code="not_final")
        rest = views.rest(goal)
        if rest is None:
            raise BadInput(texts("bad.nothing_left", goal=self._name(goal)))
        old = await self._desk.objective(goal)
        whole = texts("reopened.objective", old=old, missing=command.text) if old else command.text
        content = Content(objective(whole, texts), heard.person)
        thread = Thread(goal.session, heard.message.place)
        opened = self.starting.opened(heard, thread, content, rest)

        def told(applied: Applied) -> str:
            return texts("said.reopened", goal=self._name(goal), new=self._name(applied.goal))

        await self.starting.open(heard, replace(opened, reopens=goal.id), content, told)

    def _told(self, key: str, goal: Goal, **values: object) -> Told:
        text = self._desk.manner.texts(key, goal=self._name(goal), **values)
        return lambda _: text

    def _name(self, goal: Goal) -> str:
        return self._desk.name(goal)
