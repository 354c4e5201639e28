"""The sentences in English about secrets that goals use; part of the catalogue."""

from collections.abc import Mapping
from typing import Final

SECRETS: Final[Mapping[str, str]] = {
    "verb.secret": (
        "secrets that this room's goals use: kept sealed, and put into requests to their hosts alone "
        "(admins); the value is typed in a form, never said here"
    ),
    "verb.secret.example": "secret GITHUB_TOKEN api.github.com",
    "said.may_not.secrets": "You may not see or change secrets: it takes an admin.",
    "said.secrets.head": "Secrets of this room:",
    "said.secrets.line": "- `{name}` as `${variable}`, put into requests to {hosts}",
    "said.secrets.given": "- `{name}` as `${variable}`: **the agent can read this**",
    "said.secrets.readable": "The agent can read this: {names}.",
    "said.secrets.nowhere": "no host yet",
    "said.secrets.foot": (
        "Admins: `secret NAME HOST ...` keeps one, `secret NAME given` lets the agent read it, `secret "
        "remove NAME` takes it away."
    ),
    "said.secrets.none": (
        "This room's goals have no secrets. `secret NAME HOST ...` keeps one (admins); its value is typed "
        "in a form, never said here."
    ),
    "said.secret.enter": (
        "The value of `{name}` is typed in a form: press the button. It goes into requests to {hosts}; "
        "the agent never has it."
    ),
    "said.secret.enter.given": (
        "The value of `{name}` is typed in a form: press the button. You give it to the agent itself: "
        "**the agent can read this**, and whoever can make it say things."
    ),
    "button.secret": "Type the value",
    "said.secret.link": (
        "Here the value of `{name}` is typed, for {room}: {url}\nThe link is yours alone, works once and "
        "for {minutes} minutes."
    ),
    "said.secret.sent": "I have sent you a link in our direct chat: there the value of `{name}` is typed.",
    "said.secret.no_direct": (
        "A link to a form goes to you alone, and I know no direct chat with you. Begin one, say a word in "
        "it, then say this again."
    ),
    "said.secret.no_form": (
        "Without an address of its own (`public_url`) this bot has no form. Whoever runs it keeps the value "
        "with `headway secret set {name}{hosts}`; then say this again."
    ),
    "said.secret.kept": (
        "The secret `{name}` is kept, by {by}. Goals here have it from their next turn on as `${variable}`: "
        "a placeholder, which becomes the value in encrypted requests to {hosts} and nowhere else."
    ),
    "said.secret.kept.given": (
        "The secret `{name}` is kept, by {by}. Goals here have its value from their next turn on as "
        "`${variable}`: **the agent can read this**."
    ),
    "said.secret.removed": "The secret `{name}` is no longer this room's, by {by}.",
    "said.secret.lost": "That value did not come through: nothing was kept. Type it again: `secret {name}`.",
    "bad.secret.value": (
        "A value is never said here, and everybody in this room may have read it: revoke it. I have kept "
        "nothing of it. Say `secret {name} HOST ...` and type the new one in the form."
    ),
    "bad.secret.variable": (
        "`{variable}` is a name that programs go by. Give the variable another one: `secret {name} HOST ... "
        "as MY_{variable}`."
    ),
    "bad.secret.hosts": "A secret goes to at most {most} hosts.",
    "bad.secret.nowhere": (
        "Say where it may go: `secret {name} api.example.org`, or `secret {name} given` to let the agent read "
        "it."
    ),
    "bad.secret.unknown": "This room has no secret `{name}`. `secret list` shows them.",
    "bad.secret.which": "Say which one: `secret remove NAME`. `secret list` shows them.",
    "bad.secret.short": (
        "The value has fewer than {least} characters, and could not be told from ordinary words where it "
        "shows up. Take a longer one."
    ),
    "bad.secret.long": "The value has more than {most} characters. Keep a key to it instead.",
    "bad.secret.none": "Type the value.",
    "refused.secret_elsewhere": (
        "A secret of that name is kept for others. Take another name; whoever is an admin everywhere may "
        "give it to this room, too."
    ),
    "refused.secret_not_here": (
        "`{name}` is no secret of this room's. `secret {name} HOST ...` keeps one for it; whoever is an admin "
        "everywhere may name one of others."
    ),
    "refused.secret_bound": (
        "That secret is bound to {hosts}, for others, too. Say `secret {name}` to use it so, or take another "
        "name."
    ),
    "refused.no_secrets": "Secrets are not kept here.",
    "refused.secrets_unusable": (
        "The secret cannot be sealed: whoever runs me sees why with `headway doctor`. Nothing was kept."
    ),
    "window.secret": "Secret of this room",
    "window.secret.value": "Value of {name}",
    "window.secret.hint": (
        "It is sealed at once and shown to nobody. It goes into encrypted requests to {hosts}."
    ),
    "window.secret.hint.given": "It is sealed at once. The agent can read this value.",
    "window.secret.keep": "Keep",
    # Hosts of a room.
    "bad.value.hosts": (
        "hosts and bundles with commas and no blanks between, such as `pypi,api.example.org,"
        "*.example.org`; bundles are {bundles}"
    ),
    # What was said that looks secret.
    "said.looks_secret": (
        "That looks like a secret ({kinds}). I have kept nothing of it, and no goal gets it; but others may "
        "have read it here: revoke it. To let goals use one: `secret NAME HOST ...`, and type the value in "
        "the form (admins)."
    ),
    "said.left_out": "[left out: looks like {kind}]",
    "secret_kind.private_key": "a private key",
    "secret_kind.password": "a password or key",
    "secret_kind.url": "a password in an address",
    "secret_kind.jwt": "a signed token (JWT)",
    "secret_kind.other": "a token of {kind}",
    # The form in a browser.
    "page.secret.title": "Secret {name}",
    "page.secret.about": (
        "For goals in {room}. The value is sealed at once and shown to nobody, here or anywhere. It goes into "
        "encrypted requests to {hosts}."
    ),
    "page.secret.about.given": (
        "For goals in {room}. The value is sealed at once. The agent that works at them can read it."
    ),
    "page.secret.label": "Value",
    "page.secret.button": "Keep it",
    "page.secret.done": "It is kept",
    "page.secret.done.about": "You can close this page. What is said of it stands in the chat.",
    "page.secret.gone": "This link does not work any more",
    "page.secret.gone.about": (
        "It works once and for a while, and only for who may set secrets. Ask for a new one in the chat: "
        "secret NAME HOST ..."
    ),
}
