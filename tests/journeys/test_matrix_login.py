"""`headway matrix` as a person at a terminal, and a program in a pipe, meets it; against Synapse."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.matrix.crypto_store import owned
from tests.peers.synapse import Account as User
from tests.peers.synapse import Synapse
from tests.peers.terminal import on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
HEADWAY = [sys.executable, "-c", "from bot.cli import main; main()"]

pytestmark = pytest.mark.process


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    foreign = ("HEADWAY_", "ANTHROPIC_", "XDG_", "COLUMNS", "NO_COLOR", "FORCE_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    here = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    settings = {"HEADWAY_PROVIDER": "rehearsed", "HEADWAY_STATE_DIR": str(tmp_path / "state")}
    return {**kept, **here, **settings, "NO_PROXY": "127.0.0.1"}


def headway(
    home: dict[str, str], *words: str, given: str = "", fails: bool = False
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*HEADWAY, *words],
        env=home,
        cwd=home["HOME"],
        input=given,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done


def logged_in(home: dict[str, str], synapse: Synapse, user: User, *more: str) -> str:
    words = ("--homeserver", synapse.url, "--user", user.user_id, "--password-file", "-", *more)
    return headway(home, "matrix", "login", *words, given=user.password).stdout


def checks(home: dict[str, str]) -> dict[str, tuple[str, str]]:
    done = subprocess.run(
        [*HEADWAY, "matrix", "status", "--json"],
        env=home, cwd=home["HOME"], capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["checks"]
    return {row["check"]: (row["state"], row["text"]) for row in rows}


def test_a_person_is_walked_through_it_and_each_answer_is_tried(
    home: dict[str, str], synapse: Synapse
) -> None:
    user, admin = synapse.register("bot"), synapse.register("admin")
    answers = [
        ("bot's homeserver", "http://127.0.0.1:1\n"),
        ("bot's homeserver", f"{synapse.url}\n"),
        ("bot's user", f"{user.user_id}\n"),
        ("Password of", "wrong\n"),
        ("bot's user", f"{user.user_id}\n"),
        ("Password of", f"{user.password}\n"),
        ("people see", "Headway of the tests\n"),
        ("Your own Matrix id", "me\n"),
        ("Your own Matrix id", f"{user.user_id}\n"),
        ("Your own Matrix id", "@typo:localhost\n"),
        ("Is it written so", "\n"),
        ("Your own Matrix id", f"{admin.user_id}\n"),
    ]

    code, screen = on_a_terminal(
        [*HEADWAY, "matrix", "login"], home, answers, folder=Path(home["HOME"]), longest_s=90
    )

    told = " ".join(screen.split())
    assert code == 0, screen
    assert "cannot be reached" in told
    assert "tried again" not in told
    assert "does not take this user with this password" in told
    assert f"Logged in as {user.user_id}" in told
    assert "The device is signed" in told
    assert "is no full Matrix id" in told
    assert f"{user.user_id} is the bot itself" in told
    assert "@typo:localhost may do" not in told
    assert f"{admin.user_id} may do everything" in told
    assert f"invite {user.user_id} to a room" in told
    assert user.password not in screen
    profile = synapse.done(
        "GET", f"/_matrix/client/v3/profile/{user.user_id}/displayname", token=user.token
    )
    assert profile == {"displayname": "Headway of the tests"}
    assert {name for name, (state, _) in checks(home).items() if state != "ok"} == {"matrix rooms"}


def test_who_leaves_in_the_middle_leaves_nothing(home: dict[str, str], synapse: Synapse) -> None:
    answers = [("bot's homeserver", f"{synapse.url}\n"), ("bot's user", "\x03")]

    code, screen = on_a_terminal(
        [*HEADWAY, "matrix", "login"], home, answers, folder=Path(home["HOME"]), longest_s=60
    )

    assert code == 130, screen
    assert "Ended by you. Matrix is as it was." in screen
    assert not (Path(home["HOME"]) / "state" / "matrix" / "account.json").exists()


def test_who_leaves_after_the_login_is_told_that_the_bot_is_logged_in(
    home: dict[str, str], synapse: Synapse
) -> None:
    user = synapse.register("bot")
    answers = [
        ("bot's homeserver", f"{synapse.url}\n"),
        ("bot's user", f"{user.user_id}\n"),
        ("Password of", f"{user.password}\n"),
        ("people see", "\x03"),
    ]

    code, screen = on_a_terminal(
        [*HEADWAY, "matrix", "login"], home, answers, folder=Path(home["HOME"]), longest_s=60
    )

    assert code == 130, screen
    assert f"The bot is logged in as {user.user_id}" in " ".join(screen.split())
    assert checks(home)["matrix session"][0] == "ok"


def test_a_program_gives_all_and_is_asked_nothing(home: dict[str, str], synapse: Synapse) -> None:
    user = synapse.register("bot")

    nobody = headway(home, "matrix", "login", fails=True)
    wrong = headway(
        home, "matrix", "login", "--homeserver", synapse.url, "--user", user.user_id,
        "--password-file", "-", given="wrong", fails=True,
    )  # fmt: skip
    told = logged_in(home, synapse, user, "--admin", "@me:localhost")
    listed = json.loads(headway(home, "allow", "list", "--json").stdout)
    at_console = headway(home, "allow", "add", "@me").stdout
    table = headway(home, "allow").stdout

    assert "--homeserver" in nobody.stderr
    assert "does not take this user" in wrong.stderr
    assert "The device is signed" in told
    assert [(one["who"], one["network"], one["role"]) for one in listed] == [
        ("@me:localhost", "matrix", "admin")
    ]
    assert "somebody at the console; on Matrix, give the full id" in at_console
    assert {line.split()[1] for line in table.splitlines() if "@me" in line} == {
        "matrix",
        "console",
    }


def test_a_program_may_give_a_token_in_place_of_a_password(
    home: dict[str, str], synapse: Synapse
) -> None:
    user = synapse.register("bot")
    token = Path(home["HOME"]) / "token"
    token.write_text(user.token + "\n")
    words = ("matrix", "login", "--homeserver", synapse.url, "--token-file", str(token))

    first, again = headway(home, *words), headway(home, *words)

    assert f"Logged in as {user.user_id} on the device {user.device_id}" in first.stdout
    assert user.device_id in again.stdout
    assert user.token not in first.stdout + first.stderr


def test_the_same_user_keeps_the_device_and_another_has_to_be_meant(
    home: dict[str, str], synapse: Synapse
) -> None:
    user, other = synapse.register("bot"), synapse.register("bot")
    logged_in(home, synapse, user)
    before = checks(home)["matrix"][1]

    logged_in(home, synapse, user)
    again = checks(home)["matrix"][1]
    refused = headway(
        home, "matrix", "login", "--homeserver", synapse.url, "--user", other.user_id,
        "--password-file", "-", given=other.password, fails=True,
    )  # fmt: skip
    logged_in(home, synapse, other, "--yes")

    assert before == again
    assert "--yes" in refused.stderr
    assert user.user_id in refused.stderr
    assert other.user_id in checks(home)["matrix"][1]


def test_a_token_of_another_user_has_to_be_meant_too(
    home: dict[str, str], synapse: Synapse
) -> None:
    first, other = synapse.register("bot"), synapse.register("bot")
    logged_in(home, synapse, first)
    words = ("matrix", "login", "--homeserver", synapse.url, "--token-file", "-")

    unmeant = headway(home, *words, given=other.token, fails=True)
    kept = checks(home)["matrix"][1]
    unknown = headway(home, *words, given="syt_of_nobody", fails=True)
    meant = headway(home, *words, "--yes", given=other.token)

    assert f"Take {other.user_id} in its place" in unmeant.stderr
    assert kept.startswith(first.user_id)
    assert "does not know this token" in unknown.stderr
    assert f"Logged in as {other.user_id}" in meant.stdout


def test_a_start_says_that_the_account_file_is_damaged(
    home: dict[str, str], synapse: Synapse
) -> None:
    logged_in(home, synapse, synapse.register("bot"), "--admin", "@me:localhost")
    (Path(home["HOME"]) / "state" / "matrix" / "account.json").write_text("torn")

    running = subprocess.Popen(
        [*HEADWAY, "run"], env=home, cwd=home["HOME"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert running.stderr is not None
        said = next(line for line in running.stderr if "REHEARSED" not in line)
        looked = checks(home)
    finally:
        running.terminate()
        running.communicate(timeout=30)

    assert "is torn or was altered" in said
    assert "is torn or was altered" in looked["matrix sync"][1]
    assert looked["matrix session"] == ("skipped", "Not looked at: the account comes first.")


def test_logging_out_keeps_or_removes_the_keys(home: dict[str, str], synapse: Synapse) -> None:
    user = synapse.register("bot")
    logged_in(home, synapse, user)
    device = checks(home)["matrix"][1]

    with owned(Path(home["HOME"]) / "state" / "matrix"):
        busy = headway(home, "matrix", "logout", "--keep-keys", fails=True)
    headway(home, "matrix", "logout", "--keep-keys")
    ended = checks(home)["matrix session"]
    logged_in(home, synapse, user)
    after = checks(home)
    folder = Path(home["HOME"]) / "state" / "matrix"
    (folder / f"{user.user_id}_{device.split()[-1]}.trusted_devices").touch()
    headway(home, "matrix", "logout", "--remove-keys")
    none = headway(home, "matrix", "logout", "--remove-keys", fails=True)

    assert "Another process works with the Matrix keys" in busy.stderr
    assert ended[0] == "wrong"
    assert "headway matrix login" in ended[1]
    assert after["matrix"][1] == device
    assert after["matrix device"][0] == "ok"
    assert "There is no Matrix account" in none.stderr
    assert {path.name for path in folder.iterdir()} == {"crypto.lock", "lock"}


def test_a_rotation_of_keys_and_a_restored_backup_leave_the_bot_logged_in(
    home: dict[str, str], synapse: Synapse
) -> None:
    logged_in(home, synapse, synapse.register("bot"), "--admin", "@me:localhost")
    folder = Path(home["HOME"])
    key = folder / ".config" / "headway" / "secret.key"
    old = key.read_text()

    headway(home, "secret", "rotate")
    headway(home, "backup", str(folder / "backup"))
    headway(home, "restore", str(folder / "backup"), "--into", str(folder / "restored"))
    restored = checks({**home, "HEADWAY_STATE_DIR": str(folder / "restored")})

    assert key.read_text() != old
    assert {name: state for name, (state, _) in restored.items() if state != "ok"} == {
        "matrix rooms": "warning"
    }


def test_keys_go_to_a_file_and_come_back(home: dict[str, str], synapse: Synapse) -> None:
    logged_in(home, synapse, synapse.register("bot"))
    folder = Path(home["HOME"])
    (folder / "passphrase").write_text("a long passphrase\n")
    words = (str(folder / "keys.txt"), "--passphrase-file", str(folder / "passphrase"))

    out = headway(home, "matrix", "keys", "export", *words)
    back = headway(home, "matrix", "keys", "import", *words)

    assert "keys are in" in out.stdout
    assert "0 of 0 keys are new" in back.stdout


def test_no_password_or_token_is_taken_as_an_argument_or_shown(
    home: dict[str, str], synapse: Synapse
) -> None:
    user = synapse.register("bot")
    told = logged_in(home, synapse, user)
    account = json.loads((Path(home["HOME"]) / "state" / "matrix" / "account.json").read_text())

    shown = [told, headway(home, "config", "show").stdout, json.dumps(account)]
    helped = headway(home, "matrix", "login", "--help").stdout

    assert not [text for text in shown if user.password in text or "syt_" in text]
    assert "--password " not in helped
    assert "--token " not in helped
