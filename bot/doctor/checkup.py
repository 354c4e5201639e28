"""
`headway doctor`: every check in a thread of its own, each with a time limit.

Rule 1: a check looks; it makes, moves and migrates nothing that stays.
Rule 2: a check that hangs is reported as hanging, and the process ends without it.
Rule 3: what depends on settings that cannot be read is skipped and says so.
"""

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bot.doctor import listeners, machine, model, network, process, rooms, sandbox, secrets, store
from bot.doctor.finding import Finding, Found
from bot.doctor.screen import Screen
from bot.doctor.size import size
from bot.errors import HeadwayError
from bot.settings import Settings, read_settings
from bot.wiring.matrix_account import is_set_up
from bot.wiring.names import has_slack

QUICK_S: Final = 10.0
MODEL_S: Final = 20.0
"""Two one-token calls, each with its own connection."""


@dataclass(frozen=True, slots=True)
class Check:
    """A name, what is done, and how long it may take. It returns what is well, or raises."""

    name: str
    look: Callable[[], str]
    limit_s: float = QUICK_S


def run(config: Path | None = None, *, state_dir: Path | None = None, as_json: bool = False) -> int:
    """Look at everything, print it, and return the exit code: 0 unless something is wrong.

    `config` is a settings file to use in place of the one that would be found; `state_dir` goes
    before that of the settings.
    """
    hung = False
    findings = []
    with Screen(as_json=as_json) as screen:
        for finding, is_hung in examined(config, screen.looking, state_dir):
            screen.show(finding)
            findings.append(finding)
            hung = hung or is_hung
        screen.close(findings)
    code = 1 if any(finding.state == "wrong" for finding in findings) else 0
    if hung:
        # Threads of that check would hold the interpreter's end back for as long as it hangs.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def run_sandbox(
    config: Path | None = None, *, state_dir: Path | None = None, as_json: bool = False
) -> int:
    """Look at the sandbox alone, with every cause that is found; returns the exit code."""
    settings, finding = _read(config, state_dir)
    with Screen(as_json=as_json) as screen:
        screen.looking("sandbox")
        findings = [finding] if settings is None else sandbox.explained(settings)
        for each in findings:
            screen.show(each)
        screen.close(findings, is_all=False)
    return 1 if any(each.state == "wrong" for each in findings) else 0


def run_matrix(
    config: Path | None = None, *, state_dir: Path | None = None, as_json: bool = False
) -> int:
    """Look at Matrix alone; returns the exit code."""
    settings, finding = _read(config, state_dir)
    with Screen(as_json=as_json) as screen:
        if settings is None:
            findings = [finding]
            screen.show(finding)
        else:
            findings = []
            begun = [(each, _begin(each), time.monotonic()) for each in _matrix(settings)]
            for check, answer, started in begun:
                screen.looking(check.name)
                findings.append(_awaited(check, answer, started)[0])
                screen.show(findings[-1])
        screen.close(findings, is_all=False)
    return 1 if any(each.state == "wrong" for each in findings) else 0


def examined(
    config: Path | None, looking: Callable[[str], None], state_dir: Path | None = None
) -> Iterator[tuple[Finding, bool]]:
    """Each check's finding in order, and whether it hung. `looking` is told what is awaited."""
    settings, finding = _read(config, state_dir)
    yield _settled(Check("Python", machine.python))
    yield finding, False
    if settings is None:
        yield _settled(Check("clock", machine.clock))
        for name in (
            "state folder",
            "disk",
            "size",
            "database",
            "secrets",
            "process",
            "listeners",
            "rooms",
            "people",
            "matrix",
            "slack",
            "sandbox",
            "network",
            "model",
            "prices",
        ):
            yield Finding(name, "skipped", "Not looked at: the settings come first."), False
        return
    begun = [(check, _begin(check), time.monotonic()) for check in _checks(settings)]
    for check, answer, started in begun:
        looking(check.name)
        yield _awaited(check, answer, started)


def _checks(settings: Settings) -> tuple[Check, ...]:
    return (
        Check("clock", lambda: machine.clock(settings)),
        Check("state folder", lambda: machine.state_folder(settings)),
        Check("disk", lambda: machine.disk(settings)),
        Check("size", size),
        Check("database", lambda: store.database(settings)),
        Check("secrets", lambda: secrets.sealed(settings)),
        Check("process", lambda: process.running(settings)),
        Check("listeners", lambda: listeners.free(settings)),
        Check("rooms", lambda: rooms.reached(settings)),
        Check("people", lambda: rooms.people(settings)),
        *_matrix(settings),
        *_slack(settings),
        Check("sandbox", lambda: sandbox.works(settings), MODEL_S),
        Check("network", lambda: network.answers(settings)),
        Check("model", lambda: model.answers(settings), MODEL_S),
        Check("prices", lambda: model.prices(settings)),
    )


def _matrix(settings: Settings) -> tuple[Check, ...]:
    """What keeps the bot from hearing or speaking there; one line where it is not set up."""
    # Loading nio takes a second, which nobody without Matrix should wait for.
    if not is_set_up(settings):
        return (Check("matrix", lambda: rooms.no_matrix(settings)),)
    from bot.doctor import matrix

    looks = {
        "matrix": matrix.account,
        "matrix server": matrix.server,
        "matrix session": matrix.session,
        "matrix device": matrix.device,
        "matrix sync": matrix.sync,
        "matrix rooms": matrix.rooms,
        "matrix people": matrix.people,
    }
    return tuple(Check(name, partial(look, settings), MODEL_S) for name, look in looks.items())


def _slack(settings: Settings) -> tuple[Check, ...]:
    """The same of Slack."""
    # So does slack_sdk.
    if not has_slack(settings):
        return (Check("slack", lambda: rooms.no_slack(settings)),)
    from bot.doctor import slack, slack_heard

    looks = {
        "slack": slack.app,
        "slack token": slack.tokens,
        "slack scopes": slack.scopes,
        "slack reached": slack.reached,
        "slack clock": slack.clock,
        "slack app": slack.apps,
        "slack hearing": slack_heard.hearing,
        "slack events": slack_heard.events,
        "slack rooms": slack.rooms,
        "slack people": slack.people,
    }
    return tuple(Check(name, partial(look, settings), MODEL_S) for name, look in looks.items())


def _read(config: Path | None, state_dir: Path | None) -> tuple[Settings | None, Finding]:
    box: list[Settings] = []
    given = {} if state_dir is None else {"state_dir": state_dir}

    def look() -> str:
        box.append(read_settings(config, **given))
        return machine.settings_file(box[0])

    finding, _ = _settled(Check("settings", look))
    return (box[0] if box else None), finding


def _settled(check: Check) -> tuple[Finding, bool]:
    return _awaited(check, _begin(check), time.monotonic())


def _begin(check: Check) -> "queue.SimpleQueue[Finding]":
    answer: queue.SimpleQueue[Finding] = queue.SimpleQueue()
    threading.Thread(
        target=lambda: answer.put(_looked(check)), name=f"doctor {check.name}", daemon=True
    ).start()
    return answer


def _looked(check: Check) -> Finding:
    try:
        return Finding(check.name, "ok", check.look())
    except Found as found:
        return Finding(check.name, found.state, str(found))
    except HeadwayError as error:
        return Finding(check.name, "wrong", str(error))
    except Exception as error:  # noqa: BLE001 - one check must not take the others with it
        return Finding(
            check.name,
            "wrong",
            f"The check itself failed ({type(error).__name__}: {error}). Report it.",
        )


def _awaited(
    check: Check, answer: "queue.SimpleQueue[Finding]", started: float
) -> tuple[Finding, bool]:
    left = max(0.0, started + check.limit_s - time.monotonic())
    try:
        return answer.get(timeout=left), False
    except queue.Empty:
        text = (
            f"No answer within {check.limit_s:g} s. Look at what it depends on: "
            "the disk, the network, a key file that is a pipe."
        )
        return Finding(check.name, "wrong", text), True
