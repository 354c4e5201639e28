"""Reading a person's answer out of a transcript: pure.

The answer to `ask_person` comes as the call's result, or as a message after the turn that asked;
how a client words it is its own affair, so this reads the words.
"""

import re

from adapters.rehearsal.script import Request, blocks_of, result_text, texts_of

SHORT_CHARS = 80  # a person's bare yes or no; a label of the client's own is longer

_NO = re.compile(r"\b(no|keep|don't|do not)\b")
_YES = re.compile(r"\b(yes|delete|remove|go ahead)\b")


def answer_among(request: Request, yes: str, no: str, question: str) -> str | None:
    """The option that the person chose, `yes` or `no`; None as long as nobody did.

    A text that names both options is the question again, unless it says which was the answer.
    """
    told = re.compile(rf"(?:answer(?:ed)?|chose|said)(?: is| was)?\W{{1,3}}({yes}|{no})\b")
    for words in reversed(_since_asked(request)):
        low = words.lower().replace(question.lower(), " ")
        named = [option for option in (yes, no) if re.search(rf"\b{option}\b", low)]
        chosen = told.search(low)
        if chosen:
            return chosen[1]
        if len(named) == 1 and len(low) <= SHORT_CHARS + len(named[0]):
            return named[0]
        if named or len(low) > SHORT_CHARS:
            continue
        if _NO.search(low):
            return no
        if _YES.search(low):
            return yes
    return None


def _since_asked(request: Request) -> list[str]:
    """The texts that came since the last question: its result, and what people wrote."""
    asked: str | None = None
    words: list[str] = []
    for message in request.get("messages") or ():
        for block in blocks_of(message):
            if block.get("type") == "tool_use" and block["name"] == "ask_person":
                asked, words = block["id"], []
            elif block.get("type") == "tool_result" and block["tool_use_id"] == asked:
                words.append(result_text(block))
        if asked and message["role"] == "user":
            words += texts_of(message)
    return words
