"""The listener, over real sockets: who may ask, what is said of a taken address, what answers when."""

import http.client
import json
import socket
import stat
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from adapters.telemetry import listener
from adapters.telemetry.listener import Address, listening
from adapters.telemetry.metrics import CONTENT_TYPE
from adapters.telemetry.routes import private_routes, public_routes
from bot.ports.sight import Health, ProcessSight, Read
from bot.ports.web import Answer


class Seen:
    """A sight that says what the test wants."""

    def __init__(self, *reasons: str) -> None:
        self.reasons = reasons

    async def live(self) -> Health:
        return Health()

    async def ready(self) -> Health:
        return Health(self.reasons)

    async def figures(self) -> Read:
        return Read()

    def process(self) -> ProcessSight:
        return ProcessSight("running", 1.0, "0.1.0")


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=5)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(self._path)


def until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def where(folder: Path, name: str = "private") -> str:
    note = folder / f"{name}.addr"
    until(note.exists)
    return note.read_text().strip()


def ask(at: str, path: str, method: str = "GET", **headers: str) -> tuple[int, str, str]:
    if at.startswith("/"):
        connection: http.client.HTTPConnection = _UnixConnection(at)
    else:
        connection = http.client.HTTPConnection(at, timeout=5)
    with closing(connection):
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers.get("Content-Type", ""), answer.read().decode()


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def test_health_and_metrics_are_served(tmp_path: Path) -> None:
    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        at = where(tmp_path)
        live, ready, health, metrics = (
            ask(at, path) for path in ("/livez", "/readyz", "/healthz", "/metrics")
        )

    assert (live[0], json.loads(live[2])) == (200, {"status": "ok", "reasons": []})
    assert (ready[0], json.loads(ready[2])["status"]) == (200, "ok")
    assert json.loads(health[2])["stage"] == "running"
    assert metrics[:2] == (200, CONTENT_TYPE)
    assert "headway_ready 1.0\n" in metrics[2]


def test_what_is_not_ready_says_why_and_is_healthy_enough_for_healthz(tmp_path: Path) -> None:
    routes = private_routes(Seen("Headway is draining."))
    with listening("private", "127.0.0.1:0", routes, tmp_path):
        at = where(tmp_path)
        status, kind, body = ask(at, "/readyz")
        health = ask(at, "/healthz")

    assert (status, kind) == (503, "application/json")
    assert json.loads(body) == {"status": "failing", "reasons": ["Headway is draining."]}
    assert health[0] == 200
    assert json.loads(health[2])["ready"] == ["Headway is draining."]


def test_outside_only_livez_is_served_and_without_reasons(tmp_path: Path) -> None:
    routes = public_routes(Seen("secret reason"))
    with listening("public", "127.0.0.1:0", routes, tmp_path):
        at = where(tmp_path, "public")
        live = ask(at, "/livez", Host="headway.example")
        others = [ask(at, path)[0] for path in ("/metrics", "/healthz", "/readyz", "/")]

    assert (live[0], json.loads(live[2])) == (200, {"status": "ok"})
    assert others == [404, 404, 404, 404]


@pytest.mark.parametrize(
    "host", ["127.0.0.1:1", "localhost", "LOCALHOST.:9", "[::1]:8", "127.9.9.9"]
)
def test_a_name_of_this_machine_is_answered(tmp_path: Path, host: str) -> None:
    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        status, _, _ = ask(where(tmp_path), "/livez", Host=host)

    assert status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]:1"]
)
def test_any_other_name_is_refused_whatever_a_browser_believes(tmp_path: Path, host: str) -> None:
    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        answers = [
            ask(where(tmp_path), path, Host=host) for path in ("/livez", "/metrics", "/nothing")
        ]

    assert [status for status, _, _ in answers] == [403, 403, 403]
    assert "localhost only" in answers[0][2]


def test_nothing_can_be_changed(tmp_path: Path) -> None:
    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        at = where(tmp_path)
        statuses = [ask(at, "/livez", method)[0] for method in ("POST", "PUT", "DELETE", "HEAD")]

    assert statuses == [405, 405, 405, 200]


def test_what_serves_it_is_not_told(tmp_path: Path) -> None:
    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        connection = http.client.HTTPConnection(where(tmp_path), timeout=5)
        connection.request("GET", "/livez")
        told = connection.getresponse().headers["Server"]
        connection.close()

    assert told == "headway"


def test_it_answers_while_the_main_thread_does_not(tmp_path: Path) -> None:
    answers: list[int] = []
    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        at = where(tmp_path)
        asking = threading.Thread(target=lambda: answers.append(ask(at, "/livez")[0]))
        asking.start()
        # What holds this thread up does not hold up the listener's.
        asking.join(5)

    assert answers == [200]


def test_where_it_listens_is_known_only_while_it_does(tmp_path: Path) -> None:
    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        at = where(tmp_path)

    assert at.startswith("127.0.0.1:")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="refused"):
        ask(at, "/livez")


def test_no_address_listens_nowhere(tmp_path: Path) -> None:
    before = threading.active_count()

    with listening("private", "", private_routes(Seen()), tmp_path):
        assert threading.active_count() == before

    assert list(tmp_path.iterdir()) == []


def test_a_taken_address_is_told_with_the_mend_and_tried_until_it_is_free(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "RETRY_S", 0.05)
    port = free_port()
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()

    with listening("private", f"127.0.0.1:{port}", private_routes(Seen()), one):
        where(one)
        second = listening("private", f"127.0.0.1:{port}", private_routes(Seen()), two)
        second.__enter__()
        until(lambda: "another process listens there" in caplog.text)
        is_up_meanwhile = (two / "private.addr").exists()
    at = where(two)
    status, _, _ = ask(at, "/livez")
    second.__exit__(None, None, None)

    assert not is_up_meanwhile
    assert status == 200
    assert "give private_listen another address, such as 127.0.0.1:0" in caplog.text


def test_an_address_of_another_machine_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with listening("private", "192.0.2.1:8377", private_routes(Seen()), tmp_path):
        until(lambda: "is not up" in caplog.text)

    assert "192.0.2.1:8377" in caplog.text


def test_a_unix_socket_is_its_owners_alone_and_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening("private", f"unix:{path}", private_routes(Seen()), tmp_path):
        at = where(tmp_path)
        until(path.exists)
        mode = stat.S_IMODE(path.stat().st_mode)
        status, _, _ = ask(at, "/livez")

    assert (at, mode, status) == (str(path), 0o600, 200)
    assert not path.exists()


def test_a_socket_that_a_killed_process_left_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    with listening("private", f"unix:{path}", private_routes(Seen()), tmp_path):
        status, _, _ = ask(where(tmp_path), "/livez")

    assert status == 200


def test_a_file_that_is_no_socket_is_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "s"
    path.write_text("mine")

    with listening("private", f"unix:{path}", private_routes(Seen()), tmp_path):
        until(lambda: "is not up" in caplog.text)

    assert path.read_text() == "mine"
    assert "no socket" in caplog.text


def test_one_that_others_can_reach_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with listening("private", "0.0.0.0:0", private_routes(Seen()), tmp_path):
        at = where(tmp_path).replace("0.0.0.0", "127.0.0.1")
        status, _, _ = ask(at, "/livez", Host="headway.internal:8377")

    assert status == 200, "Nobody knows by which name it is reached."
    assert "can be reached from other machines" in caplog.text


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8377", Address("127.0.0.1", 8377)),
        ("[::1]:0", Address("::1", 0)),
        ("metrics.internal:80", Address("metrics.internal", 80)),
        ("unix:/run/h.sock", Address(path="/run/h.sock")),
        ("/run/h.sock", Address(path="/run/h.sock")),
    ],
)
def test_an_address_is_read_as_the_settings_have_it(text: str, address: Address) -> None:
    assert Address.of(text) == address


def test_one_bound_by_name_answers_to_that_name_and_to_this_machine() -> None:
    address = Address("metrics.internal", 80)

    taken = [address.takes(host) for host in ("Metrics.Internal:80", "localhost", None, "other")]

    assert taken == [True, True, True, False]


def test_an_answer_that_fails_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    async def broken() -> Answer:
        raise ValueError("broken")

    routes = {**private_routes(Seen()), "/broken": broken}
    with listening("private", "127.0.0.1:0", routes, tmp_path):
        at = where(tmp_path)
        statuses = ask(at, "/broken")[0], ask(at, "/livez")[0]

    assert statuses == (500, 200)


@pytest.mark.parametrize(
    "sent",
    [b"\xff" * 10_000, b"GET / HTTP/1.1\r\nAuthorization sk-1\r\n\r\n"],
    ids=["no request", "a header without a colon"],
)
def test_what_is_no_http_is_answered_and_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    caplog.set_level("DEBUG")

    with listening("private", "127.0.0.1:0", private_routes(Seen()), tmp_path):
        host, port = where(tmp_path).rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(sent)
            answer = connection.recv(100)

    assert b" 400 " in answer
    assert "A request was no HTTP: answered 400." in caplog.text
    assert "Authorization" not in caplog.text
    assert len(caplog.text) < 2_000


def test_an_answer_that_fails_is_logged_as_an_error_with_its_cause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken() -> Answer:
        raise ValueError("broken by the test")

    with listening("private", "127.0.0.1:0", {"/broken": broken}, tmp_path):
        ask(where(tmp_path), "/broken")

    assert "ValueError: broken by the test" in caplog.text
