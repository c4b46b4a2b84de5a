"""Checks values against JSON schemas, those keywords of them that the schemas here use."""

from __future__ import annotations

from typing import Any

from latree.errors import LatreeError
from latree.kinds.sentences import clipped

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def check(value: Any, schema: Schema, name: str = "the request") -> None:
    """Raise an error that names the first place where a value is not as the schema says."""
    _check_type(value, schema, name)
    if "enum" in schema and value not in schema["enum"]:
        raise LatreeError(f"{name}: {clipped(value)} is none of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        raise LatreeError(f"{name} is empty; leave it out")
    if isinstance(value, dict):
        _check_object(value, schema, name)
    elif isinstance(value, list):
        _check_array(value, schema, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_range(value, schema, name)


def _check_type(value: Any, schema: Schema, name: str) -> None:
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    allowed = tuple(kind for one in wanted for kind in _TYPES[one])
    if not isinstance(value, allowed) or (isinstance(value, bool) and "boolean" not in wanted):
        raise LatreeError(f"{name}: expected {' or '.join(wanted)}, not {clipped(value)}")


def _check_object(value: dict[str, Any], schema: Schema, name: str) -> None:
    for key in schema.get("required", ()):
        if key not in value:
            raise LatreeError(f"{name} has no {key!r}")
    for key, one in value.items():
        if key not in schema["properties"]:
            raise LatreeError(f"{name} has {clipped(key)}, which is none of {', '.join(schema['properties'])}")
        check(one, schema["properties"][key], key if name == "the request" else f"{name}.{key}")


def _check_array(value: list[Any], schema: Schema, name: str) -> None:
    most = schema.get("maxItems", len(value))
    if len(value) > most:
        raise LatreeError(f"{name} has {len(value)} items; the limit is {most}")
    for place, one in enumerate(value):
        check(one, schema["items"], f"{name}[{place}]")


def _check_range(value: float, schema: Schema, name: str) -> None:
    least, most = schema.get("minimum", value), schema.get("maximum", value)
    if not least <= value <= most:
        raise LatreeError(f"{name}: {value} is not between {least} and {schema.get('maximum', 'any number')}")
