# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: with `--failed FILE` the run writes down which tests failed, one a line, so that
tools/test.py can run them a second time, alone.

Only what a busy machine can cause is written down. If a fixture failed, a module could not be
collected or a sanitizer reported something, FILE is not written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sanitizer_log import report_in


class FailedTests:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._names: list[str] = []
        self._is_conclusive = False

    def pytest_collectreport(self, report: Any) -> None:
        self._is_conclusive |= report.failed

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.failed:
            return
        if report.when != "call" or report_in(report.longreprtext) is not None:
            self._is_conclusive = True
        self._names.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        if self._names and not self._is_conclusive:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text("".join(f"{name}\n" for name in self._names))


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--failed", help="a file for the names of the tests that failed")


def pytest_configure(config: Any) -> None:
    if config.option.failed:
        config.pluginmanager.register(FailedTests(Path(config.option.failed)))
