"""
The page in which a secret's value is typed.

Rule 1: looking at it uses nothing up: chats look at links by themselves. What is sent off counts, once.
Rule 2: what lets somebody send it off is the link's own word, which stands in the page alone and in no other
        site's: there is nothing else that another site could use (no cookie).
Rule 3: no script, nothing from elsewhere, no address passed on, nothing kept by browsers.
"""

import html
from typing import Final
from urllib.parse import parse_qs

from bot.errors import ByPerson
from bot.ports.secret_form import MOST, VALUE, SecretForm
from bot.ports.secret_uses import FormLink
from bot.ports.web import Answer, Request

TOKEN: Final = "k"
_FORM: Final = "application/x-www-form-urlencoded"
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_GUARDS: Final = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Robots-Tag", "noindex"),
)
_PAGE: Final = """<!doctype html>
<html lang="{language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 12vh auto; padding: 0 1rem }}
textarea {{ width: 100%; font: 1rem monospace; -webkit-text-security: disc }}
button {{ font: inherit; margin-top: 1rem; padding: .6rem 1.2rem; border: 0; border-radius: .4rem;
background: #1264a3; color: #fff }} .wrong {{ color: #b00020 }}
textarea:focus, button:focus {{ outline: 3px solid #1264a3 }}</style></head>
<body><h1>{title}</h1>{body}</body>
</html>
"""
_INPUTS: Final = """<form method="post" action="" autocomplete="off"><p>{about}</p>{wrong}
<label for="value">{label}</label>
<textarea id="value" name="value" rows="4" required maxlength="{most}" autocomplete="off" autocapitalize="off"
spellcheck="false" autofocus></textarea>
<input type="hidden" name="k" value="{token}"><button>{button}</button></form>
"""


class SecretPage:
    """Serves the form of a link."""

    def __init__(self, links: SecretForm) -> None:
        self._links = links

    async def show(self, request: Request) -> Answer:
        """The form, or that its link does not work any more."""
        token = _only(request.query, TOKEN)
        link = await self._links.open(token)
        return self._gone() if link is None else self._form(link, token)

    async def take(self, request: Request) -> Answer:
        """Keep what was typed."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        text = request.body.decode("utf-8", "replace") if kind == _FORM else ""
        token = _only(text, TOKEN)
        try:
            is_kept = await self._links.take(token, _only(text, VALUE).replace("\r\n", "\n"))
        except ByPerson as error:
            link = await self._links.open(token)
            return self._gone() if link is None else self._form(link, token, str(error))
        if not is_kept:
            return self._gone()
        say = self._links.say
        return self._page(200, say("done"), _said(say("done.about")))

    def _form(self, link: FormLink, token: str, wrong: str = "") -> Answer:
        say, secret = self._links.say, link.secret
        key = "about.given" if secret.mode == "given" else "about"
        about = say(key, room=link.room.room, hosts=self._links.hosts(secret))
        body = _INPUTS.format(
            about=html.escape(about),
            wrong=f'<p class="wrong" role="alert">{html.escape(wrong)}</p>' if wrong else "",
            label=html.escape(say("label")),
            button=html.escape(say("button")),
            token=html.escape(token),
            most=MOST,
        )
        return self._page(400 if wrong else 200, say("title", name=secret.name), body)

    def _gone(self) -> Answer:
        say = self._links.say
        return self._page(410, say("gone"), _said(say("gone.about")))

    def _page(self, status: int, title: str, body: str) -> Answer:
        language = self._links.language
        text = _PAGE.format(language=language, title=html.escape(title), body=body)
        return Answer(status, text.encode(), "text/html; charset=utf-8", _GUARDS)


def _said(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _only(form: str, name: str) -> str:
    """The one value of a field; empty where it is there twice, or not at all."""
    try:
        values = parse_qs(form, keep_blank_values=True, max_num_fields=10).get(name, [])
    except ValueError:
        return ""
    return values[0] if len(values) == 1 else ""
