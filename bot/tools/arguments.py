"""
A model's arguments, held against the tool's schema.

Only the part of JSON Schema that the tools use is known: objects without further keys, arrays,
strings, integers, booleans, `enum`, and the limits of length and size. What does not fit is a
sentence for the model, which names the argument and what it should have been.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from bot.errors import BadInput

Json = Mapping[str, Any]

FOREIGN_BYTES: Final = 200_000
"""Of arguments that nothing here reads."""

_KINDS = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def checked(tool: str, schema: Json, given: object) -> dict[str, Any]:
    """The arguments as the tool takes them: nulls of optional ones left out.

    Raises:
        BadInput: they do not fit; the message is meant for the model.
    """
    value = _value(tool, "", schema, given)
    assert isinstance(value, dict)
    return value


def unread(tool: str, given: object) -> dict[str, Any]:
    """Arguments whose schema is a stranger's: an object of bounded size.

    Raises:
        BadInput: they are none, or too much.
    """
    if not isinstance(given, dict):
        raise BadInput(f"{tool}: the input must be an object, not {_shown(given)}.")
    try:
        # Lone surrogates and endless depth go no further.
        size = len(json.dumps(given, ensure_ascii=False).encode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{tool}: the input cannot be sent: it is no plain JSON.") from error
    if size > FOREIGN_BYTES:
        raise BadInput(f"{tool}: the input has {size} bytes and may have {FOREIGN_BYTES}.")
    return given


def _value(tool: str, name: str, schema: Json, given: object) -> object:
    kind = schema["type"]
    if kind == "integer" and isinstance(given, float) and given.is_integer():
        given = int(given)
    if not _is_kind(kind, given):
        raise BadInput(f"{tool}: {_named(name)} must be {_KINDS[kind]}, not {_shown(given)}.")
    if isinstance(given, dict):
        return _object(tool, name, schema, given)
    if isinstance(given, list):
        return _array(tool, name, schema, given)
    if isinstance(given, str):
        return _string(tool, name, schema, given)
    if kind == "integer":
        _refuse_outside(tool, name, schema, given)
    return given


def _object(tool: str, name: str, schema: Json, given: Mapping[object, object]) -> dict[str, Any]:
    known: Json = schema["properties"]
    unknown = sorted(repr(key) for key in given if key not in known)
    if unknown:
        raise BadInput(
            f"{tool}: {_named(name)} has unknown {', '.join(unknown)[:200]}. "
            f"Known are {', '.join(known)}."
        )
    required = schema.get("required", ())
    missing = [key for key in required if given.get(key) is None]
    if missing:
        raise BadInput(f"{tool}: {_joined(name, missing[0])} is missing.")
    return {
        key: _value(tool, _joined(name, key), known[key], given[key])
        for key in known
        if given.get(key) is not None
    }


def _array(tool: str, name: str, schema: Json, given: list[object]) -> list[object]:
    most, least = schema.get("maxItems"), schema.get("minItems", 0)
    if most is not None and len(given) > most:
        raise BadInput(f"{tool}: {name} holds {len(given)} and may hold {most}.")
    if len(given) < least:
        raise BadInput(f"{tool}: {name} must hold at least {least}.")
    return [
        _value(tool, f"{name}[{number}]", schema["items"], each)
        for number, each in enumerate(given)
    ]


def _string(tool: str, name: str, schema: Json, given: str) -> str:
    if "enum" in schema and given not in schema["enum"]:
        known = ", ".join(schema["enum"])
        raise BadInput(f"{tool}: {name} must be one of {known}, not {_shown(given)}.")
    if len(given) < schema.get("minLength", 0) or (schema.get("minLength") and not given.strip()):
        raise BadInput(f"{tool}: {name} is empty.")
    most = schema.get("maxLength")
    if most is not None and len(given) > most:
        raise BadInput(f"{tool}: {name} has {len(given)} characters and may have {most}.")
    if any("\ud800" <= character <= "\udfff" for character in given):
        raise BadInput(f"{tool}: {name} holds half a character (a lone surrogate).")
    return given


def _refuse_outside(tool: str, name: str, schema: Json, given: Any) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if (least is not None and given < least) or (most is not None and given > most):
        raise BadInput(f"{tool}: {name} must be from {least} to {most}, not {given}.")


def _is_kind(kind: str, given: object) -> bool:
    match kind:
        case "string":
            return isinstance(given, str)
        case "integer":
            return isinstance(given, int) and not isinstance(given, bool)
        case "boolean":
            return isinstance(given, bool)
        case "array":
            return isinstance(given, list)
        case _:
            return isinstance(given, dict)


def _joined(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


def _named(name: str) -> str:
    return name or "the input"


def _shown(given: object) -> str:
    text = ascii(given)
    return text if len(text) <= 60 else text[:60] + "..."
