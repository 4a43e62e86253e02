# SPDX-License-Identifier: Apache-2.0
"""/openapi.json is a valid document of OpenAPI 3.1, by a validator that is not ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from served import Server

SESSION = "/v1/sessions/{id}"


def mistakes(document: dict[str, Any]) -> list[str]:
    # Here, so that a Python without them fails these tests and no others.
    from openapi_spec_validator import OpenAPIV31SpecValidator
    from referencing.exceptions import Unresolvable

    try:
        return [
            f"{'/'.join(map(str, one.absolute_path))}: {one.message}"
            for one in OpenAPIV31SpecValidator(document).iter_errors()
        ]
    except Unresolvable as nowhere:  # it ends the walk
        return [f"{nowhere.ref} leads nowhere"]


@pytest.fixture
def document(server: Server) -> dict[str, Any]:
    return dict(server.get("/openapi.json").json)


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    assert mistakes(document) == []


def test_every_route_describes_its_answer(document: dict[str, Any]) -> None:
    undescribed = [
        f"{method} {path}"
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if operation["responses"].keys() <= {"default"}
    ]

    assert undescribed == []


def lose_a_parameter(document: dict[str, Any]) -> None:
    document["paths"][SESSION]["get"]["parameters"] = []


def lose_the_name_of_an_answer(document: dict[str, Any]) -> None:
    document["paths"][SESSION]["get"]["responses"]["200"].pop("description")


def lose_a_schema(document: dict[str, Any]) -> None:
    document["components"]["schemas"].pop("Execution")


def name_a_type_that_is_none(document: dict[str, Any]) -> None:
    document["components"]["schemas"]["Execution"]["type"] = "record"


@pytest.mark.parametrize(
    "damage",
    [lose_a_parameter, lose_the_name_of_an_answer, lose_a_schema, name_a_type_that_is_none],
    ids=lambda one: one.__name__,
)
def test_the_check_finds_a_mistake(
    document: dict[str, Any], damage: Callable[[dict[str, Any]], None]
) -> None:
    damage(document)

    assert mistakes(document) != []
