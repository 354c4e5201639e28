"""Files of a turn: people's are there before the agent hears of them, its own reach the thread once."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.agent.filing import SHARED_MOST
from bot.goals.goal import Goal
from bot.ports.attached import path_of, with_files
from bot.ports.chat import Attachment, Incoming, Place, Speaker
from tests.bot.agent.world import World, a_world, is_audited, last_user, said, while_it_runs
from tests.contracts.files import pieces_of
from tests.doubles.model import ScriptedModel, calls, says
from tests.doubles.sandbox import MemorySandbox

ADA = Speaker("ada", "Ada")
CSV = b"a,b\n1,2\n"


class Killed(BaseException):
    """The process is gone at this point."""


async def gives(
    world: World, text: str, name: str = "report.csv", content: bytes = CSV, id: str = "f1"
) -> Incoming:
    """A message with a file has come in the thread."""
    kept = await world.files.keep(pieces_of(content))
    file = Attachment(name, "text/csv", kept.size, kept.hash)
    place = Place("console", "w", "r", "t")
    message = with_files(Incoming(id, place, ADA, text, 1.0, files=(file,)))
    await world.store.inbox.receive(message)
    return message


def workspace(world: World) -> dict[str, str]:
    found: dict[str, str] = world.sandbox.workspaces.get(world.session, {})
    return found


async def posts(world: World) -> list[Any]:
    """Every post of a file that is to be sent, in order."""
    rows = []
    while due := await world.store.outbox.claim("console", limit=10):
        for row in due:
            rows.append(row)
            await world.store.outbox.sent(row.key, f"r{len(rows)}")
    return [row for row in rows if row.kind == "file"]


async def test_a_file_is_in_the_workspace_before_the_agent_is_told_of_it() -> None:
    seen: list[dict[str, str]] = []

    def serve(request: Any) -> Any:
        seen.append(dict(workspace(world)))
        return says("Done.")

    world = World(ScriptedModel(serve))
    await world.opens("Sum up what comes.")
    message = await gives(world, "Here it is.")
    path = path_of("f1", "report.csv")

    await world.says(message.text)
    await world.runs()

    assert seen == [{path: CSV.decode()}]
    assert f"[file: {path}, text/csv, 8 bytes]" in said(world.model.requests[0])
    await world.checks()


async def test_a_file_comes_with_the_objective_too() -> None:
    world = a_world(says("Done."))
    message = await gives(world, "Sum this up.")

    await world.opens(message.text)
    await world.runs()

    assert workspace(world) == {path_of("f1", "report.csv"): CSV.decode()}


async def test_a_file_that_steers_a_running_turn_is_there_for_its_next_call() -> None:
    world = a_world(calls("bash", {"command": "pwd"}), says("Done."))
    await world.opens("Sum up what comes.")

    async def meanwhile() -> None:
        message = await gives(world, "And this.")
        await world.says(message.text)

    while_it_runs(world, meanwhile)
    await world.runs()

    assert path_of("f1", "report.csv") in workspace(world)
    assert "inbox/" in str(last_user(world.model.requests[1]))


async def test_an_ordinary_turn_gets_the_file_though_it_only_reads() -> None:
    world = a_world(says("Two columns."))
    message = await gives(world, "What is in it?")

    await world.opens(message.text, kind="ask")
    await world.runs()

    assert path_of("f1", "report.csv") in workspace(world)


async def test_a_file_is_never_put_over_one_of_the_agents_and_the_agent_is_told_where() -> None:
    world = a_world(says("Done."))
    message = await gives(world, "Sum this up.")
    path = path_of("f1", "report.csv")
    await world.opens(message.text)
    world.sandbox.workspaces[world.session] = {path: "the agent's own"}

    await world.runs()

    beside = path.replace(".csv", "-2.csv")
    assert workspace(world) == {path: "the agent's own", beside: CSV.decode()}
    assert beside in said(world.model.requests[0])


async def test_what_the_agent_has_changed_is_not_put_there_again() -> None:
    world = a_world(
        calls("write", {"path": path_of("f1", "report.csv"), "content": "mine"}),
        says("More."),
        says("Done."),
    )
    message = await gives(world, "Sum this up.")
    await world.opens(message.text)
    await world.runs()
    await world.audits()

    await world.runs()

    assert workspace(world) == {path_of("f1", "report.csv"): "mine"}


@pytest.mark.parametrize("trouble", ["forgotten", "no sandbox", "broken sandbox", "read-only"])
async def test_a_file_that_cannot_be_put_there_is_told_and_the_turn_goes_on(trouble: str) -> None:
    world = a_world(says("I cannot see it."))
    message = await gives(world, "Sum this up.")
    await world.opens(message.text)
    match trouble:
        case "forgotten":
            world.files.blobs.clear()
        case "no sandbox":
            world.sandbox = None
        case "broken sandbox":
            world.sandbox = MemorySandbox(broken="bwrap is gone.")
        case _:
            world.sandbox = ReadOnly()
    world.start_anew()

    goal = await world.runs()

    assert is_audited(goal)
    assert "could not be put into your workspace" in said(world.model.requests[0])


class ReadOnly(MemorySandbox):
    """A disk that takes nothing."""

    async def open(self, workspace: str, access: Any, line: Any = None) -> Any:
        return await super().open(workspace, "read_only")


async def test_a_line_that_somebody_typed_puts_nothing_there() -> None:
    world = a_world(says("Done."))
    await gives(world, "A file that nobody was told of.")

    await world.opens("Look at [file: inbox/AAAA/report.csv, text/csv, 8 bytes]")
    await world.runs()

    assert workspace(world) == {}


async def test_a_turn_without_files_asks_for_none() -> None:
    world = a_world(says("Done."))
    await world.opens("Look at the inbox/ and [file: nothing].")
    world.store.attachments = None
    world.files = None
    world.start_anew()

    assert is_audited(await world.runs())


async def test_a_shared_file_is_posted_once_with_its_caption() -> None:
    share = {"path": "artifacts/a.md", "caption": "The report."}
    world = a_world(
        calls("write", {"path": "artifacts/a.md", "content": "# Done\n"}),
        calls("share_file", share, id="t2"),
        says("Shared."),
    )
    await world.opens("Write a report and share it.")

    await world.runs()

    [post] = await posts(world)
    [file] = post.files
    assert (file.name, file.media_type, file.size) == ("a.md", "text/markdown", 7)
    assert world.files.blobs[file.hash] == b"# Done\n"
    assert await world.text(post.content) == "The report."
    assert await world.store.attachments.of_goal("g1") == (file,)
    assert "a.md (7 bytes) goes to the thread." in said(world.model.requests[-1])
    await world.checks()


async def test_what_is_in_the_thread_already_is_not_posted_again() -> None:
    world = a_world(
        calls("write", {"path": "a.md", "content": "x"}),
        calls("share_file", {"path": "a.md"}, id="t2"),
        calls("share_file", {"path": "a.md"}, id="t3"),
        says("Done."),
    )
    await world.opens("Share it.")

    await world.runs()

    assert len(await posts(world)) == 1
    assert "in the thread already" in said(world.model.requests[-1])


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("none.md", "There is no none.md"),
        ("../other/secret", "leads out of the workspace"),
        ("/etc/passwd", "outside the workspace"),
        ("large.bin", "1000000"),
    ],
)
async def test_what_cannot_be_shared_is_told_and_nothing_is_posted(path: str, why: str) -> None:
    world = a_world(calls("share_file", {"path": path}), says("Done."))
    await world.opens("Share it.")
    world.sandbox.workspaces[world.session] = {"large.bin": "x" * 1_000_001}

    await world.runs()

    assert why in said(world.model.requests[-1])
    assert await posts(world) == []
    assert world.files.blobs == {}


async def test_a_goal_shares_so_many_files_and_no_more() -> None:
    shares = [calls("share_file", {"path": f"{n}.txt"}, id=f"t{n}") for n in range(SHARED_MOST + 1)]
    world = a_world(*shares, says("Done."))
    await world.opens("Share all.")
    world.sandbox.workspaces[world.session] = {f"{n}.txt": str(n) for n in range(SHARED_MOST + 1)}

    await world.runs()

    assert len(await posts(world)) == SHARED_MOST
    assert "as many as it may" in said(world.model.requests[-1])


async def test_a_turn_that_only_reads_shares_nothing() -> None:
    world = a_world(calls("share_file", {"path": "a.md"}), says("Done."))
    await world.opens("Share it.", kind="ask")
    world.sandbox.workspaces[world.session] = {"a.md": "x"}

    await world.runs()

    assert "There is no tool 'share_file' in this turn" in said(world.model.requests[-1])
    assert await posts(world) == []


class Dying:
    """Dies at one place of the way of a file: before and after each step."""

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def __call__(self, *_: Any) -> None:
        self.count += 1
        if self.count == self.at:
            raise Killed


class DyingFiles:
    def __init__(self, inner: Any, point: Callable[[], None]) -> None:
        self._inner, self._point = inner, point

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def keep(self, pieces: Any) -> Any:
        self._point()
        kept = await self._inner.keep(pieces)
        self._point()
        return kept

    async def open(self, hash: str) -> Any:
        self._point()
        file = await self._inner.open(hash)
        self._point()
        return file


class DyingSandbox:
    def __init__(self, inner: Any, point: Callable[[], None]) -> None:
        self._inner, self._point = inner, point

    async def open(self, workspace: str, access: Any, line: Any = None) -> Any:
        session = await self._inner.open(workspace, access, line)
        put = session.put

        async def dying(path: str, hash: str, pieces: Any) -> str:
            self._point()
            there: str = await put(path, hash, pieces)
            self._point()
            return there

        session.put = dying
        return session


def answers(request: Any) -> Any:
    """Shares what came, by what the conversation holds."""
    done = sum(message["role"] == "assistant" for message in request.messages)
    share = {"path": path_of("f1", "report.csv"), "caption": "Back."}
    return says("Done.") if done else calls("share_file", share)


async def killed_at(at: int) -> tuple[World, Dying, Goal, Any]:
    point = Dying(at)
    world = World(ScriptedModel(answers))
    plain, sandbox = world.files, world.sandbox
    message = await gives(world, "Give it back.")
    await world.opens(message.text)
    world.files, world.sandbox = DyingFiles(plain, point), DyingSandbox(sandbox, point)
    world.journal.before = world.journal.after = point
    world.start_anew()
    goal = await world.store.journal.goal("g1")
    while not is_audited(goal):
        try:
            goal = await world.runs()
        except Killed:
            world.start_anew()
            goal = await world.store.journal.goal("g1")
    world.sandbox = sandbox
    await world.checks(was_killed=True)
    return world, point, goal, plain


async def test_killed_anywhere_a_file_comes_whole_and_goes_out_once() -> None:
    _, point, _, _ = await killed_at(0)
    assert point.count >= 12

    for at in range(1, point.count + 1):
        world, _, _, plain = await killed_at(at)

        assert workspace(world) == {path_of("f1", "report.csv"): CSV.decode()}, at
        [post] = await posts(world)
        [file] = post.files
        assert plain.blobs[file.hash] == CSV, at
