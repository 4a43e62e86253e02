# SPDX-License-Identifier: Apache-2.0
"""The peers that are driven from Python: one measurement per request, so that engine_bench can
run them between its own.

Requests come on stdin, one name a line; answers go to descriptor 3: `value METRIC NUMBER`,
`skip REASON` or `failed REASON`, then `end`. Times are in milliseconds, memory is in MiB.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
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


PEERS: dict[str, Callable[[Path], Iterator[tuple[str, float]]]] = {
    "ipykernel": ipykernel,
    "sandlock": sandlock,
}


def main() -> None:
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
