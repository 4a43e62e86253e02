# SPDX-License-Identifier: Apache-2.0
"""Answers against /openapi.json, with the part of JSON Schema that the server writes and no more:
a keyword that is not known here fails, so that none is silently ignored."""

from __future__ import annotations

import re
from typing import Any

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
KNOWN = {
    "$ref", "type", "properties", "additionalProperties", "required", "items", "enum", "anyOf",
    "minimum", "maximum", "minItems", "maxItems", "maxLength", "maxProperties", "description",
}  # fmt: skip


class Description:
    """An OpenAPI document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.routes = []
        for path, item in document["paths"].items():
            pattern = re.sub(r"\\\{path\\\}", ".+", re.escape(path))
            pattern = re.sub(r"\\\{[a-z_]+\\\}", "[^/]+", pattern)
            for method, operation in item.items():
                self.routes.append((method, re.compile(pattern), operation))

    def schema_of(self, method: str, path: str, status: int, content: str) -> Any:
        """The schema of this answer; None for one that the document does not describe."""
        for known, pattern, operation in self.routes:
            if known == method.lower() and pattern.fullmatch(path.partition("?")[0]):
                answers = operation["responses"]
                answer = answers.get(str(status)) or answers["default"]
                return answer.get("content", {}).get(content, {}).get("schema")
        return None

    def mistakes(self, value: Any, schema: dict[str, Any], where: str = "$") -> list[str]:
        """What of `value` is not as `schema` says."""
        if unknown := schema.keys() - KNOWN:
            return [f"{where}: the schema has {unknown}"]
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/components/schemas/")
            return self.mistakes(value, self.document["components"]["schemas"][name], where)
        if "anyOf" in schema:
            tries = [self.mistakes(value, one, where) for one in schema["anyOf"]]
            return [] if [] in tries else tries[0]
        kind = schema.get("type")
        if kind is not None and (
            not isinstance(value, TYPES[kind])
            or (isinstance(value, bool) and kind in ("integer", "number"))
        ):
            return [f"{where}: {value!r:.60} is no {kind}"]
        found = [f"{where}: {value!r:.60} is none of them"] * (
            "enum" in schema and value not in schema["enum"]
        )
        sizes = {"Items": list, "Length": str, "Properties": dict}
        for name, type_ in sizes.items():
            if isinstance(value, type_) and not (
                schema.get("min" + name, 0) <= len(value) <= schema.get("max" + name, 1 << 62)
            ):
                found.append(f"{where}: {len(value)} of them")
        if isinstance(value, int | float) and not (
            schema.get("minimum", value) <= value <= schema.get("maximum", value)
        ):
            found.append(f"{where}: {value} is out of range")
        if isinstance(value, dict):
            found += self._members(value, schema, where)
        if isinstance(value, list) and "items" in schema:
            for i, one in enumerate(value):
                found += self.mistakes(one, schema["items"], f"{where}[{i}]")
        return found

    def _members(self, value: dict[str, Any], schema: dict[str, Any], where: str) -> list[str]:
        found = [f"{where}.{n}: missing" for n in schema.get("required", ()) if n not in value]
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, one in value.items():
            if name in properties:
                found += self.mistakes(one, properties[name], f"{where}.{name}")
            elif others is False:
                found.append(f"{where}.{name}: not in the schema")
            elif isinstance(others, dict):
                found += self.mistakes(one, others, f"{where}.{name}")
        return found
