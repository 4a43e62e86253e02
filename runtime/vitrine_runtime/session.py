# SPDX-License-Identifier: Apache-2.0
"""A session: runs cells, one at a time, and says exactly once how each of them ended.

User code runs inside the gate (see `interrupts`): compiling, running, formatting of results and
errors. Everything after it must survive an exception between any two bytecodes, since user code
may leave signal handlers behind; so the end of an execution is a list of steps that can be
repeated, and what was sent is recorded without a bytecode in between (see `channel`).
"""

from __future__ import annotations

import sys
from typing import Any

from . import environ, forks, helpers, inspection, ipython_shim, plotting, threads, toolkits
from .aio import Loop
from .channel import Channel, Native
from .display import Display
from .errors import describe, describe_refusal, exit_status, name_of, print_last_words, remedy
from .execution import EXCEPTION, INTERRUPTED, OK, Execution
from .figures import Figures
from .hooks import DEFAULT_DEPTH, LEAST_DEPTH, Builtins, mute_signals
from .imports import ImportHooks
from .interrupts import Gate
from .lines import Lines
from .loops import LoopEnded
from .magics import Magics
from .namespace import Namespace
from .plot_windows import PlotWindows
from .results import Results
from .runner import Policy, Runner
from .sealed import __builtins__  # noqa: F401
from .shows import Show
from .sources import Sources
from .spawning import Spawning
from .stdin import Stdin
from .streams import Streams
from .tracebacks import plain

MAX_ATTEMPTS = 1000

_gettrace, _settrace = sys.gettrace, sys.settrace
_getprofile, _setprofile = sys.getprofile, sys.setprofile
_getlimit, _setlimit = sys.getrecursionlimit, sys.setrecursionlimit
_modules = sys.modules


class Session:
    """All state of a session. Made in the zygote, lives in the worker's main thread."""

    def __init__(self, native: Native) -> None:
        self.streams = Streams()
        self.channel = Channel(native, self.streams)
        self.gate = Gate()
        self.sources = Sources()
        self.namespace = Namespace()
        self.results = Results(self.channel)
        self.stdin = Stdin(self.channel, self.results)
        self.figures = Figures(self.results)
        self.plot_windows = PlotWindows()
        self.display = Display(self.results, self.figures)
        self.builtins = Builtins()
        self.imports = ImportHooks()
        self.loop = Loop()
        self.runner = Runner(self.sources, self.namespace, self.loop)
        self.policy: Policy | None = None  # None = native
        self.execution: Execution | None = None  # the running or the last one
        self.gate.told_to_stop = self._told_to_stop

    def install(self) -> None:
        """In the zygote: takes over streams, `__main__`, builtins and SIGINT."""
        self.streams.install()
        self.stdin.install()
        self.namespace.install()
        self.gate.install()
        forks.install(self.streams)
        helpers.install(self.stdin, self.display, self.imports)
        ipython_shim.install(self.display, self.imports)
        magics = Magics(self.runner, self.namespace, self.results, self.streams, self.display)
        magics.install()
        self.runner.connect(magics)
        self.imports.install()
        Spawning(self.sources).install(self.imports)
        inspection.install(self.sources)
        threads.install(self.sources)
        plotting.prepare(self.imports)
        toolkits.install(self.imports)
        self.builtins.remember()

    def adopt(self) -> None:
        """In the worker, before the first request."""
        self.streams.adopt()
        self.stdin.adopt()

    def is_watched(self) -> bool:
        """Whether somebody wants to see the screen of what runs."""
        execution = self.execution
        return execution is not None and execution.show is not None

    def execute(self, id: int, request: dict[str, Any]) -> None:
        """Runs one request to its end. May be called again for a request that an exception
        from outside cut short: it then goes on where it was."""
        execution = self.execution
        if execution is None or execution.request is not request:
            execution = self.execution = Execution(id, request)
        if not execution.begun:
            try:
                self._run(execution)
            except BaseException as error:
                self._give_up(execution, error)
        attempts = 0
        while not execution.finished_sent and attempts < MAX_ATTEMPTS:
            attempts += 1
            try:
                self._end(execution)
            except BaseException:
                if attempts > 2:
                    mute_signals()
                    execution.note("signal handlers kept raising after the code: switched off")

    def _run(self, execution: Execution) -> None:
        execution.begun = True
        gate = self.gate
        gate.begin()
        self.results.begin(execution)
        self.figures.begin()
        self._prepare(execution)
        is_worker = self.channel.is_worker
        error: BaseException | None = None
        value: object = None
        show = execution.show
        try:
            self.channel.executing(execution.id)
            if show is not None:
                show.begin()
            if execution.lines is not None:
                execution.lines.begin()
            gate.open()
            if self.figures.unfinished:
                self.figures.discard()
            try:
                gate.endable = show is not None
                value = self.runner.run_cell(execution.code)
                gate.endable = False
            except BaseException as raised:
                gate.endable = False
                error = raised
            # First, with no Python call: what would hit the calls that follow.
            if _getlimit() < LEAST_DEPTH:
                _setlimit(DEFAULT_DEPTH)
                execution.note(f"the recursion limit was too low: it is {DEFAULT_DEPTH} again")
            if _gettrace() is not None or _getprofile() is not None:
                _setprofile(None)
                _settrace(None)
                execution.note("functions set with sys.settrace and sys.setprofile end with a cell")
            if not is_worker():
                forks.leave_child(error, self.streams, self.sources)
            if show is not None:
                show.code_over()
            refusal = None if self.policy is None else self.policy.refusal(error)
            if refusal is not None:
                error = refusal
                execution.refused(describe_refusal(refusal, self.sources))
            elif error is not None:
                self._conclude(execution, error)
            elif value is not None:
                self._show(value)
            if (figures := self.figures.any_open()) or show or self.streams.replaced():
                self.channel.native.flush()  # a value does not wait for what may hang
            if figures and execution.outcome == INTERRUPTED:
                self.figures.discard()
            elif figures:
                self.figures.end()
            if show is not None and execution.outcome != INTERRUPTED:
                show.paint()
            self.streams.flush_foreign()
            if error is None:
                execution.outcome = OK
            # Their finalizers run here, where they can be interrupted.
            value = error = refusal = None
            gate.is_open = False
        except BaseException as raised:
            gate.is_open = False
            if not is_worker():
                forks.leave_child(raised, self.streams, self.sources)
            value = error = None
            self._give_up(execution, raised)

    def _prepare(self, execution: Execution) -> None:
        request = execution.request
        while self.policy is not None and self.policy.notes:
            execution.note(self.policy.notes.pop(0))
        self.namespace.repair()
        self.loop.begin()
        self.plot_windows.close()
        self.figures.window = None
        if request.get("render_ms"):
            execution.show = Show(self.channel, self.gate, execution, request["render_ms"] / 1000)
            self.figures.window = self.plot_windows.show
        if request.get("line_ms"):
            execution.lines = Lines(
                self.channel.native, self.sources, execution.id, request["line_ms"] / 1000
            )
        if request["env"]:
            execution.environment = environ.apply(request["env"])
        if request["stdin"] is not None or request["interactive"]:
            self.stdin.begin(request["stdin"], request["interactive"])

    def _show(self, value: object) -> None:
        self.namespace.remember(value)
        self.results.value(value)
        if "matplotlib.figure" in _modules:
            self.figures.returned(value)

    def _conclude(self, execution: Execution, error: BaseException) -> None:
        """What an exception out of user code means. Inside the gate: it asks user code for text."""
        outcome, exit_code = EXCEPTION, 1
        if type(error) is LoopEnded:
            execution.outcome = OK
            return
        if issubclass(type(error), SystemExit):
            exit_code, message = exit_status(error)
            if exit_code == 0:
                execution.outcome = OK
                return
            if message is not None:
                print_last_words(message)
        elif issubclass(type(error), KeyboardInterrupt) and self._was_interrupted():
            outcome, exit_code = INTERRUPTED, 130
        described = describe(error, self.sources)
        advice = remedy(error)
        if advice is not None:
            execution.note(advice)
        execution.error = described
        execution.exit_code = exit_code
        execution.outcome = outcome

    def _told_to_stop(self) -> bool:
        told = self.channel.told_to_stop
        return told is not None and told()

    def _was_interrupted(self) -> bool:
        """By request, that is; a KeyboardInterrupt of user code's own is an exception."""
        told = self.channel.told_to_stop
        if told is not None:
            return told()
        return self.gate.hit or not self.gate.installed()

    def _give_up(self, execution: Execution, error: BaseException) -> None:
        """An exception struck outside the user's own code: while a result or an error was being
        formatted, or from a signal handler. No user code runs here."""
        if execution.outcome:
            return
        if type(error) is LoopEnded:
            execution.outcome = OK
            return
        execution.outcome, execution.exit_code = EXCEPTION, 1
        value = "raised before the code ran, or while a result was being formatted"
        if issubclass(type(error), KeyboardInterrupt) and self._was_interrupted():
            execution.outcome, execution.exit_code = INTERRUPTED, 130
            value = "interrupted before the code ran, or while a result was being formatted"
        name = name_of(error)
        execution.error = (name, value, plain(error, name, value))

    def _end(self, execution: Execution) -> None:
        """The steps of the end. Each may be repeated; none runs user code."""
        self.gate.is_open = False
        channel = self.channel
        if execution.show is not None:
            execution.show.ender.end()
        if execution.lines is not None:
            execution.lines.end()
        channel.executing(0)
        if not channel.is_worker():
            forks.leave_child(None, self.streams, self.sources)
        if _gettrace() is not None or _getprofile() is not None:
            _setprofile(None)
            _settrace(None)
        missing = self.builtins.restore()
        if missing:
            execution.note(f"builtins were deleted: restored {', '.join(missing[:10])}")
        if not self.gate.installed():
            self.gate.install()
        if not self.streams.intact():
            for note in self.streams.repair():
                execution.note(note)
        if execution.environment is not None:
            environ.restore(execution.environment)
            execution.environment = None
        self.results.end()
        self.stdin.end()
        self.streams.flush()
        id = execution.id
        if execution.notes is not None:
            channel.notes(execution.notes_sent, id, execution.notes)
        if execution.error is not None and not execution.error_sent:
            channel.error(execution.error_sent, id, execution.error)
        outcome = execution.outcome or EXCEPTION
        channel.finished(execution.finished_sent, id, outcome, execution.exit_code)
