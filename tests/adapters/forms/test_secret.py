"""The page in which a value is typed: shown as often as somebody looks, taken once, used by nobody else."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlencode

import pytest

from adapters.forms.secret import SecretPage
from bot.chat.texts import Texts
from bot.errors import BadInput
from bot.ports.chat import Place
from bot.ports.gateway import InUse
from bot.ports.secret_uses import FormLink
from bot.ports.web import Answer, Request

SECRET = InUse("TOKEN<b>", ("api.example.org",), "TOKEN")
FORM = {"content-type": "application/x-www-form-urlencoded; charset=UTF-8"}


@dataclass
class Links:
    """Port SecretForm: one link, `word`."""

    secret: InUse = SECRET
    is_open: bool = True
    taken: list[str] = field(default_factory=list)

    language: str = "en"

    def say(self, key: str, **values: object) -> str:
        return Texts()(f"page.secret.{key}", **values)

    def hosts(self, secret: InUse) -> str:
        return ", ".join(secret.hosts)

    async def open(self, token: str) -> FormLink | None:
        link = FormLink(Place("matrix", "@b:x", '!r<i>"'), "p1", self.secret, 1.0)
        return link if self.is_open and token == "word" else None

    async def take(self, token: str, value: str) -> bool:
        if await self.open(token) is None:
            return False
        if len(value) < 6:
            raise BadInput("It is too short & wrong.")
        self.taken.append(value)
        self.is_open = False
        return True


def asked(query: str) -> Request:
    return Request("GET", "/secret", query, {}, b"")


def sent(headers: dict[str, str] | None = None, **fields: str) -> Request:
    return Request(
        "POST", "/secret", "", FORM if headers is None else headers, urlencode(fields).encode()
    )


def text(answer: Answer) -> str:
    return answer.body.decode()


async def test_it_can_be_looked_at_often_and_sent_off_once() -> None:
    page = SecretPage(links := Links())

    shown = [await page.show(asked("k=word")) for _ in range(3)]
    done = await page.take(sent(k="word", value="a-long\r\nvalue"))
    again = await page.take(sent(k="word", value="another-value"))

    assert {one.status for one in shown} == {200}
    assert (done.status, again.status, links.taken) == (200, 410, ["a-long\nvalue"])
    assert "a-long" not in text(done)


@pytest.mark.parametrize("query", ["", "k=", "k=other", "k=word&k=word", "x=word"])
async def test_another_link_shows_nothing(query: str) -> None:
    answer = await SecretPage(Links()).show(asked(query))

    assert answer.status == 410
    assert "TOKEN" not in text(answer)


async def test_what_stands_in_it_is_text() -> None:
    answer = await SecretPage(Links()).show(asked("k=word"))

    assert "TOKEN&lt;b&gt;" in text(answer)
    assert "!r&lt;i&gt;&quot;" in text(answer)
    assert "api.example.org" in text(answer)


async def test_nothing_from_elsewhere_runs_in_it_or_gets_its_address() -> None:
    answer = await SecretPage(Links()).show(asked("k=word"))
    headers = dict(answer.headers)

    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert not re.search("<script|src=|href=", text(answer))


async def test_a_wrong_value_is_said_and_the_link_stays() -> None:
    page = SecretPage(links := Links())

    answer = await page.take(sent(k="word", value="short"))

    assert answer.status == 400
    assert "It is too short &amp; wrong." in text(answer)
    assert 'value="short"' not in text(answer)
    assert links.is_open


@pytest.mark.parametrize(
    "headers", [{}, {"content-type": "text/plain"}, {"content-type": "application/json"}]
)
async def test_what_another_site_can_send_without_asking_is_nothing(
    headers: dict[str, str],
) -> None:
    page = SecretPage(links := Links())

    answer = await page.take(sent(headers, k="word", value="a-long-value"))

    assert (answer.status, links.taken) == (410, [])


async def test_a_readable_one_is_said_to_be_so() -> None:
    page = SecretPage(Links(InUse("TOKEN", (), "TOKEN", "given")))

    assert "can read it" in text(await page.show(asked("k=word")))
