"""What a command in the sandbox can find of the bot's keys: nothing."""

from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import Bubblewrap

KEYS = {
    "HEADWAY_API_KEY": "planted-api-key",
    "ANTHROPIC_API_KEY": "planted-api-key-of-the-sdk",
    "HEADWAY_SECRET_KEY": "planted-secret-key",
    "HEADWAY_DATABASE": "postgresql://u:planted-password@h/d",
    "AWS_SECRET_ACCESS_KEY": "planted-cloud-key",
}
LOOK = (
    "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat {file} 2>&1; "
    "ls -la {folder} 2>&1; grep -rs plan[t]ed /etc /run /var /dev/shm /tmp ~ 2>/dev/null | head; true"
)


@pytest.mark.sandbox
@pytest.mark.parametrize("profile", ["read_only", "workspace"])
async def test_no_environment_no_process_and_no_file_inside_shows_a_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, profile: str
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "config" / "secret.key"
    file.parent.mkdir()
    file.write_text("planted-key-in-the-file")
    state = tmp_path / "state"
    sandbox = Bubblewrap(state / "workspaces", hidden=(str(state), str(file.parent)))
    session = await sandbox.open("w", profile)  # type: ignore[arg-type]

    try:
        command = LOOK.format(file=file, folder=file.parent)
        outcome = await session.call("bash", {"command": command}, timeout_s=30)
    finally:
        await session.close()
        await sandbox.close()

    assert "HOME=" in outcome.text
    assert "PATH=" in outcome.text
    assert outcome.text.count("planted") == 0, outcome.text
