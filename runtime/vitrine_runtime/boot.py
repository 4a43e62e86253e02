# SPDX-License-Identifier: Apache-2.0
"""From an interpreter that just started to a zygote, and from each fork of it to a worker."""

from __future__ import annotations

from typing import NoReturn

# Descriptors that the keeper's builder places: control socket, and two seccomp programs.
CONTROL, ZYGOTE_FILTER, WORKER_FILTER = 3, 4, 5


def main(variant: str, modules: list[str], policy: str = "native") -> NoReturn:
    import _vitrine

    from . import fork_hooks

    collected = fork_hooks.collect()
    from . import environ, worker, zygote

    zygote.warm(variant, modules, policy)
    collected()
    fork_hooks.begin()
    rehearse = _vitrine.serve_forks(CONTROL, ZYGOTE_FILTER, WORKER_FILTER)
    # From here on this is a sealed worker.
    fork_hooks.done()
    environ.use_working_directory_as_home()
    worker.after_fork()
    if rehearse:
        worker.rehearse()
    _vitrine.ready()
    worker.main()
