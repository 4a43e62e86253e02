# SPDX-License-Identifier: Apache-2.0
"""A method that means one thing on the class and another on its instances, with both typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

S = TypeVar("S")
P = ParamSpec("P")
Q = ParamSpec("Q")
A = TypeVar("A")
B = TypeVar("B")


class Either(Generic[S, P, A, Q, B]):
    def __init__(
        self, on_class: Callable[P, A], on_instance: Callable[Concatenate[S, Q], B]
    ) -> None:
        self._on_class = on_class
        self._on_instance = on_instance
        self.__doc__ = on_instance.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Callable[P, A]: ...
    @overload
    def __get__(self, instance: S, owner: type[Any]) -> Callable[Q, B]: ...
    def __get__(self, instance: S | None, owner: type[Any]) -> Callable[..., Any]:
        if instance is None:
            return self._on_class
        return self._on_instance.__get__(instance, owner)  # type: ignore[no-any-return]
