# SPDX-License-Identifier: Apache-2.0
"""The process between a client and its private server: it ends the server when the client ends.

It is started by `vitrine.local()` as `python -I -S _guardian.py DIRECTORY COMMAND...`, and holds
one end of a pipe (its stdin). When the other end is closed, or the client's process is gone for
whatever reason, it stops the server and removes DIRECTORY. The server is told (`--ephemeral`) to
end with the guardian, should that be killed itself. Standard library only; prints one line of JSON
when all is ready.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

STOP_S = 15.0


def say(**fields: Any) -> None:
    try:
        os.write(1, (json.dumps(fields) + "\n").encode())
    except OSError:
        pass  # the client is gone; stdin says so too


def tail(path: str) -> str:
    try:
        with open(path, "rb") as log:
            return log.read()[-2000:].decode(errors="replace").strip()
    except OSError:
        return ""


def start(command: list[str], log: str) -> subprocess.Popen[bytes]:
    with open(log, "ab") as errors:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd="/",
        )


def stop(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is None:
        server.terminate()
        try:
            server.wait(STOP_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def watch(server: subprocess.Popen[bytes], log: str, client: int) -> None:
    """Until the client or the server is gone."""
    assert server.stdout is not None
    ready = server.stdout.fileno()
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.register(ready, select.POLLIN | select.POLLHUP)
    poll.register(client, select.POLLIN)
    line = b""
    while True:
        happened = {descriptor for descriptor, _ in poll.poll()}
        if client in happened or (0 in happened and not os.read(0, 4096)):
            return
        if ready in happened:
            block = os.read(ready, 4096)
            if not block:
                if not line.endswith(b"\n"):
                    say(error=tail(log) or "it ended without a word")
                return
            line += block
            if line.endswith(b"\n"):
                say(ready=line.decode().strip(), pid=server.pid)


def main() -> None:
    directory, command = sys.argv[1], sys.argv[2:]
    log = os.path.join(directory, "log")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    client = os.pidfd_open(os.getppid())
    server = None
    try:
        server = start(command, log)
        watch(server, log, client)
    except OSError as error:
        say(error=str(error))
    finally:
        if server is not None:
            stop(server)
        for _ in range(50):  # the front's last write may come after the keeper's end
            shutil.rmtree(directory, ignore_errors=True)
            if not os.path.exists(directory):
                break
            time.sleep(0.1)


if __name__ == "__main__":
    main()
