"""The wheel's function documents as tools."""

from collections.abc import Mapping
from functools import cache

from agentgym.types import Json, ToolSpec
from agentgym_tools.bfcl.wheel import MODULES, Entry, documents

_TYPES = {"dict": "object", "float": "number"}


@cache
def tool_spec(api: str, name: str) -> ToolSpec:
    """Return a function of an API class as a tool."""
    document = documents(api)[name]
    schema = _schema(document["parameters"])
    schema["additionalProperties"] = False
    if "ticket_id" in schema["properties"]:  # documented as integers, but some states hold texts
        schema["properties"]["ticket_id"]["type"] = ["integer", "string"]
    return ToolSpec(name=name, description=document["description"], parameters=schema)


def functions(entry: Entry, turn: int) -> dict[str, str]:
    """Return the functions on offer in a turn: the API class of each, by name."""
    later = {n for first, names in entry.withheld.items() if turn < first for n in names}
    hidden = entry.excluded | later
    return {
        name: api for api in sorted(entry.classes) for name in documents(api) if name not in hidden
    }


@cache
def parameters() -> dict[str, tuple[str, ...]]:
    """Return the names of each function's parameters, in order, of every API class."""
    return {
        name: tuple(document["parameters"]["properties"])
        for api in MODULES
        for name, document in documents(api).items()
    }


def _schema(document: Mapping[str, Json]) -> dict[str, Json]:
    """Translate the documents' own types, which name Python's, into JSON schema's."""
    schema = {**document, "type": _TYPES.get(document["type"], document["type"])}
    if "properties" in document:
        parts = document["properties"].items()
        schema["properties"] = {name: _schema(part) for name, part in parts}
    if "items" in document:
        schema["items"] = _schema(document["items"])
    return schema
