"""A healthy installation, to be hurt in one place and shown to the doctor."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.doctor import checkup
from bot.doctor.finding import Finding
from tests.peers.messages_api import BlockingMessagesApi

MODELS = ("claude-sonnet-5-5", "claude-haiku-5-5", "homemade-1")


@dataclass(frozen=True)
class Patient:
    """A healthy installation, to be hurt in one place."""

    home: Path
    state: Path
    variables: pytest.MonkeyPatch
    api: BlockingMessagesApi

    def set(self, **variables: str | Path) -> None:
        for name, value in variables.items():
            self.variables.setenv(name.upper(), str(value))

    def toml(self, text: str) -> Path:
        path = self.home / "headway.toml"
        path.write_text(text, "utf-8")
        path.chmod(0o600)
        return path


def examined(config: Path | None = None) -> dict[str, Finding]:
    return {each.check: each for each, _ in checkup.examined(config, lambda _: None)}
