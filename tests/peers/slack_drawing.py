"""
Blocks that local-slack's page cannot draw, as blocks that it can: for whoever looks at the page.

The page reads `*bold*`, `_it_`, `~s~`, one line of code between backticks, `> `, links and mentions; it
knows no fences and no entities.
"""

import re
from typing import Any, Final

Json = dict[str, Any]
GLYPHS: Final = {"complete": "☑", "in_progress": "▸", "pending": "☐", "error": "☒"}
_MARKS: Final = {"bold": "*", "italic": "_", "strike": "~", "code": "`"}
_DATE: Final = re.compile(r"<!date\^[^|>]*\|([^>]*)>")
_ENTITIES: Final = (("&lt;", "<\u2060"), ("&gt;", ">"), ("&amp;", "&"))


def drawn(block: Any) -> list[Json] | None:
    """What stands for it on the page; None: it can be drawn as it is."""
    kind = block.get("type") if isinstance(block, dict) else None
    match kind:
        case "plan":
            tasks = [_task(task) for task in block.get("tasks", ())]
            return [_context("\n".join(filter(None, [block.get("title", ""), *tasks])))]
        case "task_card":
            return [_context(_task(block))]
        case "markdown":
            return [_section(_markdown(str(block.get("text", ""))))]
        case "rich_text":
            return [_section(_rich(block))]
        case "table":
            return [_section(_code(_rows(block)))]
        case "context_actions":
            return [_context("[👍] [👎]")]
        case _:
            return None


def shown(text: str) -> str:
    """A text of mrkdwn as the page shows it right: its entities and dates."""
    text = _DATE.sub(r"\1", text)
    for entity, letter in _ENTITIES:
        text = text.replace(entity, letter)
    parts = re.split(r"```\n?(.*?)\n?```", text, flags=re.DOTALL)
    return "".join(_code(part) if at % 2 else part for at, part in enumerate(parts))


def _task(task: Json) -> str:
    return f"{GLYPHS.get(task.get('status', ''), '·')} {task.get('title', '')}"


def _markdown(text: str) -> str:
    """Markdown as the page's markup, as far as posts of the bot have it."""
    parts = re.split(r"^```[^\n]*\n(.*?)^```$", f"{text}\n", flags=re.DOTALL | re.MULTILINE)
    return "".join(_code(part) if at % 2 else _prose(part) for at, part in enumerate(parts)).strip()


def _prose(text: str) -> str:
    text = re.sub(r"^#+ +(.*)$", r"**\1**", text, flags=re.MULTILINE)
    text = re.sub(r"^( *)[-*+] ", r"\1• ", text, flags=re.MULTILINE)
    text = re.sub(r"\[([^\]]*)\]\(([^)\s]*)\)", r"<\2|\1>", text)
    text = re.sub(r"(?<![*\w])\*([^*\n]+)\*(?!\*)", r"_\1_", text)
    return text.replace("**", "*").replace("~~", "~")


def _rich(block: Json) -> str:
    numbers: dict[int, int] = {}
    return "\n".join(_part(part, numbers) for part in block.get("elements", ())).rstrip("\n")


def _part(part: Json, numbers: dict[int, int]) -> str:
    inner = part.get("elements", [])
    match part.get("type"):
        case "rich_text_preformatted":
            return _code(_plain(inner))
        case "rich_text_quote":
            return "> " + _styled(inner).replace("\n", "\n> ")
        case "rich_text_list":
            indent = "    " * int(part.get("indent", 0))
            is_ordered = part.get("style") == "ordered"
            return "\n".join(
                f"{indent}{f'{n}.' if is_ordered else '•'} {_styled(one.get('elements', []))}"
                for n, one in enumerate(inner, 1)
            )
        case _:
            return _styled(inner)


def _styled(elements: list[Json]) -> str:
    found = []
    for one in elements:
        text = _plain(one)
        for name, mark in _MARKS.items():
            if (one.get("style") or {}).get(name) and text.strip():
                text = f"{mark}{text}{mark}"
        found.append(text)
    return "".join(found)


def _plain(part: Any) -> str:
    if isinstance(part, list):
        return "".join(_plain(each) for each in part)
    if not isinstance(part, dict):
        return ""
    match part.get("type"):
        case "text" | "raw_text":
            return str(part.get("text", "")).replace("<", "<\u2060")
        case "raw_number":
            return str(part.get("value", ""))
        case "user":
            return f"<@{part.get('user_id')}>"
        case "channel":
            return f"<#{part.get('channel_id')}>"
        case "link":
            return f"<{part.get('url')}|{part.get('text') or part.get('url')}>"
        case "emoji":
            return f":{part.get('name')}:"
        case "date":
            return str(part.get("fallback", ""))
        case _:
            return _plain(part.get("elements", []))


def _rows(block: Json) -> str:
    cells = [[_plain(cell).strip() for cell in row] for row in block.get("rows", ())]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]) if cells else 0)]
    return "\n".join(
        " | ".join(cell.ljust(widths[at]) for at, cell in enumerate(row)) for row in cells
    )


def _code(text: str) -> str:
    """Code, each line on its own: the page has no fences."""
    lines = (line.replace("`", "\u02cb").replace(" ", "\u00a0") for line in text.split("\n"))
    return "\n" + "\n".join(f"`{line}`" if line else "" for line in lines) + "\n"


def _section(text: str) -> Json:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _context(text: str) -> Json:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}
