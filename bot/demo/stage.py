"""
The demo's processes and its folder.

Rule 1: everything lies in one fresh folder, which goes at the end unless it is to be kept.
Rule 2: each process is in a session of its own, is ended by its own pid, and ends by itself when
        the demo is gone: its standard input is a pipe that closes then.
Rule 3: the bot's settings come from a file in that folder alone, not from the person's own.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bot.errors import HeadwayError
from bot.settings import FILE_NAME, PREFIX, Settings, read_settings

REPLY_S: Final = 0.6
"""How long the rehearsed model takes for a reply, so that one can watch."""
READY_S: Final = 20.0
END_S: Final = 10.0
REHEARSED_KEY: Final = "rehearsed-demo-key"
REAL_BUDGET_USD: Final = 1.0
REAL_BUDGET_TOKENS: Final = 500_000
"""Five times what the rehearsed run takes; it also holds where a price is not known."""
MAX_TOKENS: Final = 4_096
"""Less than usual: the reply that is lost on the way is charged as if it had been this long."""
QUIET_S: Final = 1.0
"""Of the goal's life only this is shorter than usual: how long an audit waits for a person's word."""
ASKS: Final = ("rm",)
"""What the rehearsed agent runs only with a yes to the very call. A real one is asked for enough."""
_REHEARSAL: Final = ("adapters.rehearsal", "--port", "0", "--until-eof")
_BOT: Final = "bot.demo.bound"


@dataclass(slots=True)
class Stage:
    """The folder, the settings in it, and what runs."""

    own: Settings
    """The person's own settings: their key, if they have one, is used."""
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="headway-demo-")))
    address: str = ""
    _model: subprocess.Popen[bytes] | None = None
    _bot: subprocess.Popen[bytes] | None = None

    @property
    def is_rehearsed(self) -> bool:
        """True where no key was given and so a written script answers."""
        own = self.own
        return own.provider == "rehearsed" or (own.provider == "anthropic" and not own.key())

    @property
    def config(self) -> Path:
        """The settings file of the demo."""
        return self.folder / FILE_NAME

    @property
    def log(self) -> Path:
        """What the bot writes to standard error."""
        return self.folder / "bot.log"

    def prepare(self) -> Settings:
        """Start the model, if it is rehearsed, and write the settings; returns them.

        Raises:
            HeadwayError: the rehearsed model does not start.
        """
        if self.is_rehearsed:
            self.address = self._start_model()
        self.config.touch(mode=0o600)
        self.config.write_text(_toml(self._given()), "utf-8")
        return read_settings(self.config, **self._given(), **self._secret())

    def start_bot(self) -> int:
        """Start Headway over the folder; returns its pid."""
        with self.log.open("ab") as log:
            self._bot = _process((_BOT, str(self.config)), self._environment(), stderr=log)
        return self._bot.pid

    def kill_bot(self) -> None:
        """End Headway with SIGKILL: nothing of it runs after this."""
        assert self._bot is not None
        self._bot.kill()
        _ended(self._bot)

    def check(self) -> None:
        """Raise HeadwayError where a process ended by itself."""
        for name, process in (("Headway", self._bot), ("The rehearsed model", self._model)):
            if process is not None and process.poll() is not None:
                raise HeadwayError(
                    f"{name} ended by itself (exit code {process.returncode}). "
                    f"Its log: {self.last_words() or 'empty'}"
                )

    def last_words(self) -> str:
        """The end of the bot's log."""
        try:
            return self.log.read_text("utf-8", "replace").strip()[-600:]
        except OSError:
            return ""

    def end(self, *, at_once: bool = False) -> None:
        """End what runs, with or without the grace of a shutdown. Idempotent."""
        for process in (self._bot, self._model):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGKILL if at_once else signal.SIGTERM)
        for process in (self._bot, self._model):
            if process is not None:
                _ended(process)
        self._bot = self._model = None

    def close(self, *, keep: bool, at_once: bool = False) -> None:
        """End what runs and remove the folder, unless it is to be kept. Idempotent."""
        self.end(at_once=at_once)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _start_model(self) -> str:
        words = (*_REHEARSAL, "--duration", str(REPLY_S), "--key", REHEARSED_KEY)
        self._model = _process(words, _clean(os.environ), stdout=subprocess.PIPE)
        assert self._model.stdout is not None
        os.set_blocking(self._model.stdout.fileno(), False)
        until, line = time.monotonic() + READY_S, b""
        while not line.endswith(b"\n"):
            if time.monotonic() > until or self._model.poll() is not None:
                raise HeadwayError("The rehearsed model does not start. Run the demo again.")
            line += self._model.stdout.read() or b""
            time.sleep(0.02)
        return f"http://127.0.0.1:{json.loads(line)['port']}"

    def _given(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "state_dir": str(self.folder / "state"),
            "database": "",
            "sandbox": self.own.sandbox,
            "provider": "anthropic" if self.is_rehearsed else self.own.provider,
            "region": self.own.region,
            "project": self.own.project,
            "prices": {name: price.model_dump() for name, price in self.own.prices.items()},
            "model": self.own.model,
            "audit_model": self.own.audit_model,
            "base_url": self.address or self.own.base_url,
            "max_tokens": MAX_TOKENS,
            "limits": {"quiet_s": QUIET_S},
            "ask_commands": list(ASKS) if self.is_rehearsed else [],
        }
        if not self.is_rehearsed:
            given["budget_usd"] = min(self.own.budget_usd, REAL_BUDGET_USD)
            given["budget_tokens"] = min(self.own.budget_tokens, REAL_BUDGET_TOKENS)
        return given

    def _secret(self) -> dict[str, Any]:
        return {"api_key": REHEARSED_KEY if self.is_rehearsed else self.own.key()}

    def _environment(self) -> dict[str, str]:
        """The person's, without their settings; the key is handed on here and written nowhere."""
        return {**_clean(os.environ), f"{PREFIX}API_KEY": self._secret()["api_key"]}


def _process(
    words: tuple[str, ...], env: Mapping[str, str], **more: Any
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        stdin=subprocess.PIPE,
        env=env,
        start_new_session=True,
        **{"stdout": subprocess.DEVNULL, **more},
    )


def _clean(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith((PREFIX, "ANTHROPIC_"))
    }
    root = str(Path(__file__).resolve().parents[2])
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, (root, kept.get("PYTHONPATH"))))}


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process that was told to end; at last it is killed."""
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(END_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _toml(given: Mapping[str, Any]) -> str:
    """The settings as a file; JSON's strings and numbers are TOML's too."""
    return "".join(f"{name} = {_value(value)}\n" for name, value in given.items())


def _value(value: Any) -> str:
    if not isinstance(value, Mapping):
        return json.dumps(value)
    pairs = (f"{json.dumps(k)} = {_value(v)}" for k, v in value.items() if v is not None)
    return f"{{ {', '.join(pairs)} }}"
