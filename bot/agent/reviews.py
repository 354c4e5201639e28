"""
What follows from a review's answer: the bot does it itself, before the goal's next turn.

Rule 1: the answer stays with the goal until what came of it is written down. A process that ends in between
        does it again: a commit that is on its branch is pushed by no second push, and a checkout that is put
        back is not worked at before.
Rule 2: what is applied is the commit that was shown, not what is in the checkout by now.
Rule 3: what cannot be done is told to the agent, and the goal goes on.
"""

from dataclasses import replace
from typing import Protocol

from bot.agent import prompts_checks
from bot.agent.projects import Projects, no_room
from bot.errors import BadInput, HeadwayError, IllegalMove, NoSandbox, Refused
from bot.goals.events import ReviewSettled
from bot.goals.goal import Decision, Goal, State
from bot.ports.chat import Place
from bot.ports.git_names import own_branch
from bot.ports.journal import Content, Journal, Lease, Unit
from bot.ports.repositories import Repository
from bot.tools.untrusted import fenced


class _Homes(Protocol):
    async def home(self, session: str) -> Place: ...


class _Runner(Protocol):
    async def run(self, lease: Lease) -> Goal: ...


class Reviews:
    """Carries out what people answered to reviews."""

    def __init__(self, projects: Projects, journal: Journal, homes: _Homes) -> None:
        """`homes`: where goals live."""
        self._projects, self._journal, self._homes = projects, journal, homes

    async def settle(self, lease: Lease) -> Lease | None:
        """Do it and write it down; None where the goal has moved on meanwhile. Raises as the journal."""
        goal, review = lease.goal, lease.goal.review
        assert review is not None
        ok, told = await self._carried_out(goal, review)
        content = Content(told, "tool")
        unit = Unit(
            goal.id,
            (ReviewSettled(review.id, content.hash, ok),),
            (content,),
            epoch=lease.epoch,
        )
        try:
            applied = await self._journal.commit(unit)
        except (IllegalMove, Refused):
            return None
        is_ours = not applied.fenced and applied.goal.state is State.READY
        return replace(lease, goal=applied.goal) if is_ours else None

    async def _carried_out(self, goal: Goal, review: Decision) -> tuple[bool, str]:
        try:
            place = await self._homes.home(goal.session)
            name, repository = await self._projects.of(goal, place)
            if repository is None:
                raise BadInput(f"The room has no repository {name!r} any more.")
            if review.accepted:
                return True, await self._apply(goal, place, repository, review.call)
            return True, await self._discard(goal, repository, review.call)
        except (BadInput, NoSandbox, OSError) as error:
            # It may hold what a server or a program printed.
            said = no_room(error) if isinstance(error, OSError) else str(error)
            why = fenced(said, review.id)
            return False, prompts_checks.not_carried_out(review.accepted, why)

    async def _apply(self, goal: Goal, place: Place, repository: Repository, commit: str) -> str:
        projects, branch = self._projects, own_branch(goal.number)
        credential = await projects.credentials(place, repository)
        await projects.mirrors.push(goal.id, repository, credential, commit, branch)
        try:
            async with projects.checkout(goal, repository) as checkout:
                await checkout.settle(commit)
        except HeadwayError:
            # It is pushed; that the agent's own branch does not lead to it is nothing lost.
            pass
        return prompts_checks.applied(commit, branch, repository.name)

    async def _discard(self, goal: Goal, repository: Repository, commit: str) -> str:
        change = await self._projects.mirrors.change(goal.id, repository, commit)
        base = change.base or commit
        async with self._projects.checkout(goal, repository) as checkout:
            await checkout.put_back(commit, base)
        return prompts_checks.discarded(commit, base)


class Reviewed:
    """A runner that begins no turn before what was answered to its goal's review is done."""

    def __init__(self, inner: _Runner, reviews: Reviews, journal: Journal) -> None:
        self._inner, self._reviews, self._journal = inner, reviews, journal

    async def run(self, lease: Lease) -> Goal:
        """Run the turn. Raises as who runs it, and as the journal."""
        if lease.goal.state is State.READY and lease.goal.review is not None:
            settled = await self._reviews.settle(lease)
            if settled is None:
                return await self._journal.goal(lease.goal.id)
            lease = settled
        return await self._inner.run(lease)
