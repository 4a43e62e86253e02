# SPDX-License-Identifier: Apache-2.0
"""The peers that are driven from Python: one measurement per request, so that a benchmark can run
them between its own.

Requests come on stdin, one name a line; answers go to descriptor 3: `value METRIC NUMBER`,
`skip REASON` or `failed REASON`, then `end`. Times are in milliseconds, memory is in MiB.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

IMPORTS = "import numpy, pandas, matplotlib.pyplot"
EXECUTIONS = 20


class Skip(Exception):
    """The peer cannot be had here; the message says why."""


def packages(image: Path) -> Path:
    """Where the image's numpy lies: the peers use the same one."""
    for found in sorted(image.glob("usr/local/lib/python3*/dist-packages/numpy")):
        return found.parent
    raise Skip("the image has no numpy")


def environment(image: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(packages(image)),
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def since(start: float) -> float:
    return (time.perf_counter() - start) * 1000


def ipykernel(image: Path) -> Iterator[tuple[str, float]]:
    """A Jupyter kernel, started and asked through jupyter_client."""
    try:
        from jupyter_client.manager import KernelManager
    except ImportError as error:
        raise Skip(f"jupyter_client is not installed: {error}") from error
    start = time.perf_counter()
    manager = KernelManager(kernel_name="python3")
    manager.kernel_spec.argv = [
        sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"
    ]  # fmt: skip
    manager.start_kernel(env=environment(image), stderr=subprocess.DEVNULL)
    client = manager.blocking_client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=60)
        yield "ready", since(start)
        begun = time.perf_counter()
        run(client, IMPORTS)
        yield "imports", since(begun)
        yield "first", since(start)
        for _ in range(EXECUTIONS):
            begun = time.perf_counter()
            run(client, "1+1")
            yield "exec", since(begun)
        pid = manager.provisioner.process.pid
        yield from memory(pid).items()
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(client: object, code: str) -> None:
    reply = client.execute_interactive(  # type: ignore[attr-defined]
        code, timeout=60, output_hook=lambda message: None
    )
    if reply["content"]["status"] != "ok":
        raise RuntimeError(f"the kernel answered {reply['content']}")


def memory(pid: int) -> dict[str, float]:
    sizes = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in ("Rss", "Pss"):
            sizes[name.lower()] = int(rest.split()[0]) / 1024
    return sizes


def sandlock(image: Path) -> Iterator[tuple[str, float]]:
    """A fresh Python in a sandlock sandbox (Landlock, seccomp and a supervisor)."""
    try:
        import sandlock
    except (ImportError, OSError) as error:
        raise Skip(f"sandlock is not installed: {error}") from error
    abi = sandlock.landlock_abi_version()
    if abi < sandlock.min_landlock_abi():
        raise Skip(f"sandlock wants a newer Landlock than {abi}")
    readable = ["/usr", "/lib", "/lib64", "/bin", "/etc", "/proc", "/dev", str(image)]
    readable += sorted({sys.prefix, sys.base_prefix})
    box = sandlock.Sandbox(
        fs_readable=[path for path in readable if os.path.exists(path)],
        fs_writable=["/tmp"],
        env=environment(image),
    )
    start = time.perf_counter()
    result = box.run([sys.executable, "-c", f"{IMPORTS}; print(1+1)"], timeout=60)
    if not result.success or result.stdout.strip() != b"2":
        raise RuntimeError(f"sandlock answered {result}")
    yield "run", since(start)


def end_with_parent() -> None:
    """In a child, before exec: it is killed when we are."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL, 0, 0, 0)


@functools.cache
def start_gateway(image: Path) -> str:
    """Once, for all measurements: the address of a Jupyter Kernel Gateway."""
    try:
        import kernel_gateway  # noqa: F401
    except ImportError as error:
        raise Skip(f"jupyter_kernel_gateway is not installed: {error}") from error
    home = tempfile.TemporaryDirectory()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "kernel_gateway", "--KernelGatewayApp.ip=127.0.0.1",
         f"--KernelGatewayApp.port={port}", "--KernelGatewayApp.port_retries=0"],
        env=environment(image) | {"HOME": home.name},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=end_with_parent,
    )  # fmt: skip

    def stop() -> None:
        server.terminate()
        server.wait()
        home.cleanup()

    atexit.register(stop)
    address = f"127.0.0.1:{port}"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://{address}/api", timeout=5).close()
            return address
        except (urllib.error.URLError, OSError):
            if server.poll() is not None:
                raise RuntimeError("the Kernel Gateway ended at once") from None
            time.sleep(0.1)
    raise RuntimeError("the Kernel Gateway did not become ready")


def gateway(image: Path) -> Iterator[tuple[str, float]]:
    """A kernel of a Kernel Gateway that already runs: created by HTTP, asked by WebSocket."""
    address = start_gateway(image)
    import websocket

    start = time.perf_counter()
    request = urllib.request.Request(f"http://{address}/api/kernels", data=b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=60) as answer:
        kernel = json.load(answer)["id"]
    try:
        channels = websocket.create_connection(
            f"ws://{address}/api/kernels/{kernel}/channels", timeout=60
        )
        ask(channels, IMPORTS)
        yield "first", since(start)
        for _ in range(EXECUTIONS):
            begun = time.perf_counter()
            ask(channels, "1+1")
            yield "exec", since(begun)
        channels.close()
    finally:
        url = f"http://{address}/api/kernels/{kernel}"
        urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=60).close()


def ask(channels: object, code: str) -> None:
    """Runs code and waits for what a client waits for: the reply, and the kernel being idle."""
    number = uuid.uuid4().hex
    header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": "bench",
              "date": "", "version": "5.3"}  # fmt: skip
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {},
               "allow_stdin": False, "stop_on_error": True}  # fmt: skip
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content,
               "channel": "shell", "buffers": []}  # fmt: skip
    channels.send(json.dumps(message))  # type: ignore[attr-defined]
    missing = {"reply", "idle"}
    while missing:
        # The gateway sends several small messages with Nagle's algorithm on; without this, each
        # execution would wait 40 ms for our delayed acknowledgement.
        channels.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)  # type: ignore[attr-defined]
        got = json.loads(channels.recv())  # type: ignore[attr-defined]
        if got["parent_header"].get("msg_id") != number:
            continue
        if got["msg_type"] == "execute_reply":
            missing.discard("reply")
            if got["content"]["status"] != "ok":
                raise RuntimeError(f"the kernel answered {got['content']}")
        if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
            missing.discard("idle")


PEERS: dict[str, Callable[[Path], Iterator[tuple[str, float]]]] = {
    "gateway": gateway,
    "ipykernel": ipykernel,
    "sandlock": sandlock,
}


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # what was started is ended
    image = Path(sys.argv[1])
    with os.fdopen(3, "w", buffering=1) as answers:
        for line in sys.stdin:
            try:
                for metric, value in PEERS[line.strip()](image):
                    answers.write(f"value {metric} {value:.6f}\n")
            except Skip as reason:
                answers.write(f"skip {reason}\n")
            except Exception as error:
                answers.write(f"failed {type(error).__name__}: {error}".replace("\n", " ") + "\n")
            answers.write("end\n")


if __name__ == "__main__":
    main()
