"""
The tools of a goal that starts from a repository: port Toolbox.

Rule 1: the agent works at a checkout in its own workspace. The server is reached by the bot alone, whose
        credential no sandbox ever has.
Rule 2: what is pushed is the commit that was shown: it is brought out before somebody is asked, kept, and
        named by its id in the call that they allow.
Rule 3: a repository that is gone, or a server that is out of reach, is a result for the agent.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Final

from bot.agent.checkout import Checkout
from bot.errors import BadInput, HeadwayError, NoSandbox
from bot.goals.goal import Goal
from bot.goals.objective_lines import repository_in
from bot.ports.chat import Place
from bot.ports.git_names import own_branch
from bot.ports.journal import Journal
from bot.ports.mirrors import Change, Credential, Mirrors
from bot.ports.repositories import Repositories, Repository
from bot.ports.sandbox import Outcome, Sandbox
from bot.tools import git_fetch, git_push, review
from bot.tools.tool import Tool
from bot.tools.toolbox import Asking

Credentials = Callable[[Place, Repository], Awaitable[Credential | None]]
"""What the server of a room's repository is told. Raises BadInput: it has one that cannot be used for it."""

DIFF_CHARS: Final = 200_000
TOOLS: Final = (git_fetch.TOOL, git_push.TOOL, review.TOOL)


class Projects:
    """Port Toolbox."""

    def __init__(
        self,
        sandbox: Sandbox | None,
        mirrors: Mirrors,
        repositories: Repositories,
        credentials: Credentials,
        journal: Journal,
        *,
        most_mb: int,
    ) -> None:
        """`most_mb`: of a pack that comes back."""
        self.sandbox, self.mirrors, self.credentials = sandbox, mirrors, credentials
        self._repositories, self._journal = repositories, journal
        self.most = most_mb * 1024 * 1024

    async def open(self, goal: Goal, place: Place, *, read_only: bool) -> "ProjectKit":
        """As in the port."""
        if read_only or goal.kind != "goal" or self.sandbox is None:
            return ProjectKit(self, goal, place, "", None)
        try:
            name, repository = await self.of(goal, place)
        except HeadwayError:
            # The store says so itself, at the turn's next step.
            name, repository = "", None
        return ProjectKit(self, goal, place, name, repository)

    async def of(self, goal: Goal, place: Place) -> tuple[str, Repository | None]:
        """The repository that the goal's objective names, and what its room has under that name."""
        texts = await self._journal.contents(goal.session, (goal.objective,))
        name = repository_in(texts.get(goal.objective, ""))
        if not name:
            return "", None
        known = await self._repositories.of(Place(place.network, place.workspace, place.room))
        return name, next((one for one in known if one.name == name), None)

    @asynccontextmanager
    async def checkout(self, goal: Goal, repository: Repository) -> AsyncIterator[Checkout]:
        """The goal's checkout, in a session that ends with it. Raises NoSandbox."""
        if self.sandbox is None:
            raise NoSandbox("there is no sandbox on this machine.")
        session = await self.sandbox.open(goal.session, "workspace")
        try:
            yield Checkout(session, repository, own_branch(goal.number))
        finally:
            await session.close()

    async def bring(self, goal: Goal, repository: Repository, commit: str) -> None:
        """Have a commit of the goal's, checked; what is here already is not fetched again."""
        if await self.mirrors.has(goal.id, repository, commit):
            return
        async with (
            self.checkout(goal, repository) as checkout,
            checkout.packed(commit, self.most) as pack,
        ):
            await self.mirrors.take(goal.id, repository, commit, pack)


class ProjectKit:
    """Port Kit: one repository of one goal."""

    def __init__(
        self,
        projects: Projects,
        goal: Goal,
        place: Place,
        name: str,
        repository: Repository | None,
    ) -> None:
        """`name`: as the objective has it; empty: the goal starts from none, and has no such tools."""
        self._projects, self._goal, self._place = projects, goal, place
        self._name, self._repository = name, repository

    @property
    def tools(self) -> Sequence[Tool]:
        """As in the port."""
        return TOOLS if self._name else ()

    async def about(self, name: str, args: Mapping[str, Any]) -> str:
        """As in the port: of a push, what exactly would be pushed."""
        if name != git_push.TOOL.name:
            return ""
        repository, commit, branch = self._found(), args["commit"], self._branch(args)
        try:
            await self._projects.bring(self._goal, repository, commit)
            change = await self._projects.mirrors.change(self._goal.id, repository, commit)
        except NoSandbox as error:
            raise BadInput(f"The tools are off: {error}") from error
        except OSError as error:
            raise BadInput(no_room(error)) from error
        head = f"{repository.name} ({repository.url}), branch {branch}\n{_counted(change)}"
        return f"{head}\n\n{change.log}\n\n{change.stat}"

    async def call(
        self, name: str, args: Mapping[str, Any], *, tool_use: str, timeout_s: float
    ) -> Outcome:
        """As in the port."""
        does: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[Outcome]]] = {
            git_fetch.TOOL.name: self._fetch,
            git_push.TOOL.name: self._push,
            review.TOOL.name: self._review,
        }
        try:
            return await does[name](args)
        except BadInput as error:
            return Outcome(False, str(error))
        except NoSandbox as error:
            return Outcome(False, f"The tools are off: {error}")
        except OSError as error:
            return Outcome(False, no_room(error))

    async def close(self) -> None:
        """As in the port: every call has ended what it began."""

    async def _fetch(self, args: Mapping[str, Any]) -> Outcome:
        projects, repository = self._projects, self._found()
        credential = await projects.credentials(self._place, repository)
        head = await projects.mirrors.fetch(repository, credential, args.get("branch", ""))
        async with projects.checkout(self._goal, repository) as checkout:
            have = await checkout.have(head.branch)
            bundle = await projects.mirrors.bundle(repository, head, have)
            with bundle or nullcontext():
                standing = await checkout.refresh(head, bundle)
            new = "" if bundle is not None else " Nothing is new."
            text = f"{checkout.folder}: origin/{head.branch} is {head.commit}.{new}\n{standing}"
        return Outcome(True, text, changed=bundle is not None)

    async def _push(self, args: Mapping[str, Any]) -> Outcome:
        projects, repository = self._projects, self._found()
        commit, branch = args["commit"], self._branch(args)
        await projects.bring(self._goal, repository, commit)
        credential = await projects.credentials(self._place, repository)
        is_new = await projects.mirrors.push(self._goal.id, repository, credential, commit, branch)
        did = "Pushed" if is_new else "It was there already:"
        return Outcome(True, f"{did} {commit} to {branch} of {repository.name}.", changed=is_new)

    async def _review(self, args: Mapping[str, Any]) -> Outcome:
        projects, repository, goal = self._projects, self._found(), self._goal
        summary = args["summary"].strip()
        async with projects.checkout(goal, repository) as checkout:
            commit = await checkout.snapshot(summary)
        await projects.bring(goal, repository, commit)
        change = await projects.mirrors.change(goal.id, repository, commit)
        if commit == change.base or not change.stat:
            raise BadInput("The checkout changes nothing: there is nothing to look at.")
        diff = await projects.mirrors.diff(goal.id, repository, commit, DIFF_CHARS)
        text = f"{summary}\n\n{repository.name}, for {self._branch({})}. {_counted(change)}\n\n{change.stat}"
        return Asking(
            True,
            f"Asked to look at {commit}. End your turn now: the answer opens the next one.",
            kind="review",
            question=f"{text}\n\n{as_block(diff)}",
            call=commit,
        )

    def _found(self) -> Repository:
        if self._repository is None:
            raise BadInput(
                f"The room has no repository {self._name!r} (any more). An admin adds it: "
                "`/goal room repo add URL as NAME`; or the objective names another one."
            )
        return self._repository

    def _branch(self, args: Mapping[str, Any]) -> str:
        return args.get("branch") or own_branch(self._goal.number)


def as_block(text: str) -> str:
    """A text as a block of code that nothing in it ends."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}diff\n{text.rstrip()}\n{fence}"


def no_room(error: OSError) -> str:
    """What is told where the bot's own disk took nothing."""
    return f"The machine of the bot does not keep it ({error.strerror or error}). Its operator can mend that."


def _counted(change: Change) -> str:
    on = f" on {change.base[:12]}" if change.base else ""
    many = "1 commit" if change.commits == 1 else f"{change.commits} commits"
    return f"{many}{on}, up to {change.commit}"
