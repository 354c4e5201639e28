"""A goal that starts from a repository: fetched, mended, reviewed and pushed, in the real process."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.bot import Bot, Thread, assert_sound, until
from tests.journeys.conftest import Begin
from tests.peers.git_server import GitServer, git_server
from tests.peers.messages_api import BlockingMessagesApi
from tests.peers.web_hosts import web_hosts

pytestmark = [pytest.mark.process, pytest.mark.sandbox]

Api = BlockingMessagesApi
HOST = "git.test"
FILES = {
    "app.py": "def two(): return 3\n",
    "test_app.py": (
        "import unittest, app\n\n\nclass Two(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(app.two(), 2)\n"
    ),
}
CHECK = "python3 -m unittest -q"
INDEX = "index.example"
PIP = (
    "python3 -m pip install -q --no-cache-dir --disable-pip-version-check --target cache/got "
    f"--trusted-host {INDEX} --index-url http://{INDEX}/simple/ small-thing"
)
RECEIVES = "/app.git/git-receive-pack"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path / "served") as running:
        running.create("app", FILES)
        yield running


@pytest.fixture
def bot(begin: Begin, api: Api, server: GitServer) -> Bot:
    """A process whose room has the repository, with its credential."""
    private = json.dumps([f"{HOST}:{server.port}=127.0.0.1"])
    return with_repository(begin(api, private_hosts=private), server)


def with_repository(one: Bot, server: GitServer) -> Bot:
    entry = f"{HOST}:{server.port}"
    value = f"{server.user}:{server.password}"
    one.ask(do="secret.set", name="GIT_TOKEN", value=value, hosts=[entry], by="root")
    one.say(f"/goal room repo add {server.url('app', HOST)} secret GIT_TOKEN")
    return one


def asked(goal: Thread) -> str:
    """What the card says that asks somebody."""
    text = goal.until_posted("decision").text
    goal.bot.ask(do="settle")
    return text


def seen_inside(goal: Thread) -> str:
    """All that the agent could see of what might hold a credential."""
    folder = goal.bot.folder / "workspaces" / goal.goal().session
    return (folder / "notes" / "all-that-can-be-seen").read_bytes().decode("utf-8", "replace")


def test_a_goal_fetches_mends_what_its_check_finds_and_pushes_once_somebody_allows_it(
    bot: Bot, api: Api, server: GitServer
) -> None:
    goal = bot.goal(f"!script pushes\nrepo: app\ncheck: {CHECK}")

    card = asked(goal)
    before = server.pushes("app")
    goal.say("approve 1")
    goal.until("complete")

    look = assert_sound(api, goal, "decision", "complete")
    [(branch, commit)] = server.pushes("app")
    assert before == []
    assert branch == "headway/g1"
    assert commit in card
    assert "app.py | 2 +-" in card
    assert [len(ran.failing) for ran in look.events("GatesRan")] == [1, 0]
    assert f"{CHECK}` passed" in goal.posts()[-1].text
    assert f"Pushed {commit} to headway/g1 of app." in goal.posts()[-1].text


def test_the_credential_can_be_read_nowhere_in_the_sandbox(
    bot: Bot, api: Api, server: GitServer
) -> None:
    goal = bot.goal(f"!script pushes\nrepo: app\ncheck: {CHECK}")
    asked(goal)
    goal.say("approve 1")
    goal.until("complete")

    seen = seen_inside(goal)

    assert "user.name=Headway" in seen
    assert f"{HOST}:{server.port}/app.git" in seen
    assert server.password not in seen
    workspace = bot.folder / "workspaces" / goal.goal().session
    files = [path for path in workspace.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not any(server.password.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize("moment", ["before the server has it", "after the server has it"])
def test_killed_between_the_yes_and_the_end_of_the_push_it_is_pushed_once(
    moment: str, bot: Bot, api: Api, server: GitServer
) -> None:
    goal = bot.goal(f"!script pushes\nrepo: app\ncheck: {CHECK}")
    asked(goal)
    where = server.hangs if moment.startswith("before") else server.holds
    where.add(RECEIVES)
    goal.say("approve 1")
    until(lambda: _arrived(server, moment), 30, bot.told)
    bot.end()
    where.clear()

    bot.start()
    goal.until("complete")

    assert len(server.pushes("app")) == 1
    assert goal.kinds() == ["decision", "complete"]


def _arrived(server: GitServer, moment: str) -> bool:
    if moment.startswith("after"):
        return bool(server.pushes("app"))
    return any(
        path.startswith("/app.git/info/refs?service=git-receive") for _, path, _ in server.requests
    )


def test_what_the_sources_need_is_installed_through_the_proxy(
    begin: Begin, api: Api, server: GitServer, tmp_path: Path
) -> None:
    server.commit("app", {"test_app.py": f"import small_thing\n{FILES['test_app.py']}"})
    with web_hosts(tmp_path, "sealed.example") as web:
        bot = with_repository(
            begin(
                api,
                profile="networked",
                hosts=json.dumps([INDEX]),
                private_hosts=json.dumps(
                    [f"{HOST}:{server.port}=127.0.0.1", f"{INDEX}=127.0.0.1:{web.plain}"]
                ),
            ),
            server,
        )
        install = base64.urlsafe_b64encode(PIP.encode()).decode()
        goal = bot.goal(
            f"!script pushes {install}\nrepo: app\ncheck: PYTHONPATH=../../cache/got {CHECK}"
        )
        card = asked(goal)
        goal.say("approve 1")
        goal.until("complete")

    look = assert_sound(api, goal, "decision", "complete")
    [(branch, commit)] = server.pushes("app")
    assert (branch, commit in card) == ("headway/g1", True)
    assert [len(ran.failing) for ran in look.events("GatesRan")] == [1, 0]
    assert any(path.endswith(".whl") for _, path, _ in web.asked)


def test_a_push_that_is_denied_does_not_happen_and_the_reason_is_told(
    bot: Bot, api: Api, server: GitServer
) -> None:
    goal = bot.goal(f"!script pushes\nrepo: app\ncheck: {CHECK}")
    asked(goal)

    goal.say("deny 1: not on a Friday")
    goal.until("complete")

    assert server.pushes("app") == []
    assert "not on a Friday" in goal.posts()[-1].text


def test_a_review_that_is_applied_is_pushed_by_the_bot(
    bot: Bot, api: Api, server: GitServer
) -> None:
    goal = bot.goal("!script reviews\nrepo: app")

    card = asked(goal)
    goal.say("apply 1")
    goal.until("complete")

    [(branch, commit)] = server.pushes("app")
    assert "two() is 2 now" in card
    assert branch == "headway/g1"
    assert f"{commit} is on branch headway/g1 of app now" in goal.posts()[-1].text
    assert "def two(): return 2" in goal.posts()[-1].text


def test_a_review_that_is_discarded_puts_the_checkout_back(
    bot: Bot, api: Api, server: GitServer
) -> None:
    goal = bot.goal("!script reviews\nrepo: app")

    asked(goal)
    goal.say("discard 1")
    goal.until("complete")

    assert server.pushes("app") == []
    assert "The checkout is put back to" in goal.posts()[-1].text
    assert "def two(): return 3" in goal.posts()[-1].text


def test_killed_while_an_applied_review_is_pushed_it_is_pushed_once(
    bot: Bot, api: Api, server: GitServer
) -> None:
    goal = bot.goal("!script reviews\nrepo: app")
    asked(goal)
    server.holds.add(RECEIVES)
    goal.say("apply 1")
    until(lambda: bool(server.pushes("app")), 30, bot.told)
    bot.end()
    server.holds.clear()

    bot.start()
    goal.until("complete")

    assert len(server.pushes("app")) == 1
    assert len(goal.look().events("ReviewSettled")) == 1


def test_a_repository_that_the_room_has_not_begins_no_goal(begin: Begin, api: Api) -> None:
    bot = begin(api)
    bot.say("/goal !script pushes\nrepo: nowhere")

    until(lambda: any("has no repository" in one.text for one in bot.posts()), 20, bot.told)

    assert bot.goals() == []
