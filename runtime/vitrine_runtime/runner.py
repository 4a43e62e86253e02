# SPDX-License-Identifier: Apache-2.0
"""From the source of a cell to its value. Everything here counts as user code: it may be
interrupted at any point and may raise anything."""

from __future__ import annotations

from _ast import Module
from typing import NoReturn, Protocol

from . import magics, newer_grammar
from .aio import Loop
from .cell import FUTURES, Cell, build, expression, parse
from .namespace import Namespace
from .sealed import __builtins__  # noqa: F401
from .sources import Sources
from .transform import HOOK, CellMagic, cell_magic, transform


class Policy(Protocol):
    """What a session's code may do; see `policies`. The methods may raise a refusal."""

    interprets: bool  # it runs cells itself
    notes: list[str]  # for the first execution

    def run(self, source: str) -> object: ...
    def admit(self, tree: Module, futures: int) -> Module: ...
    def refuse_magic(self, source: str) -> NoReturn: ...
    def refusal(self, error: BaseException | None) -> BaseException | None: ...


class Runner:
    """Compiles and runs cells in the session's namespace."""

    __slots__ = ("_sources", "_names", "_loop", "_magics", "futures", "policy")

    def __init__(self, sources: Sources, namespace: Namespace, loop: Loop) -> None:
        self._sources = sources
        self._names = namespace.names
        self._loop = loop
        self._magics: magics.Magics | None = None
        self.futures = 0  # compiler flags of the future statements seen so far
        self.policy: Policy | None = None  # None = native

    def connect(self, table: magics.Magics) -> None:
        """Magics run parts of cells, so they and the runner need each other."""
        self._magics = table

    def run_cell(self, source: str) -> object:
        """Runs the next cell; returns the value of its last expression, or None."""
        filename = self._sources.add(source)
        if self.policy is not None and self.policy.interprets:
            return self.policy.run(source)
        if self.policy is None:
            cell = expression(source, filename, self.futures)
            if cell is not None:
                return self._run_built(cell)
        problem = None
        try:
            tree = parse(source, filename, self.futures)
        except SyntaxError as error:
            problem = error
        if problem is not None:  # outside the handler: user code must not see it as a context
            magic = cell_magic(source)
            if magic is not None:
                if self.policy is not None:
                    self.policy.refuse_magic(source)
                return self._run_cell_magic(magic, filename)
            tree, source = self._parse_magics(source, filename, problem)
        return self._run_tree(tree, source, filename)

    def run_part(self, source: str, offset: int) -> object:
        """Runs a part of the current cell that starts `offset` lines below its top."""
        source = "\n" * offset + source
        filename = self._sources.last()
        problem = None
        try:
            tree = parse(source, filename, self.futures)
        except SyntaxError as error:
            problem = error
        if problem is not None:
            tree, source = self._parse_magics(source, filename, problem)
        return self._run_tree(tree, source, filename)

    def _run_tree(self, tree: Module, source: str, filename: str) -> object:
        if self.policy is not None:
            tree = self.policy.admit(tree, self.futures)
        return self._run_built(build(tree, source, filename, self.futures))

    def _run_built(self, cell: Cell) -> object:
        names = self._names
        if cell.body is not None:
            self.futures |= cell.body.co_flags & FUTURES
        if cell.in_loop:
            return self._loop.run(cell, names)
        if cell.body is not None:
            exec(cell.body, names)
        if cell.last is not None:
            return eval(cell.last, names)
        return None

    def _run_cell_magic(self, magic: CellMagic, filename: str) -> object:
        assert self._magics is not None
        try:
            return self._magics.cell(magic)
        except SyntaxError as error:
            error.filename = error.filename or filename
            raise

    def _parse_magics(self, source: str, filename: str, problem: SyntaxError) -> tuple[Module, str]:
        """A cell with shell commands or magics; raises `problem` if it has none."""
        try:
            plain = transform(source, magics.problem)
        except SyntaxError as error:
            error.filename = filename
            raise
        if plain is None:
            newer_grammar.explain(problem)
            raise problem
        if self.policy is not None and HOOK in plain:
            self.policy.refuse_magic(source)
        return parse(plain, filename, self.futures), plain
