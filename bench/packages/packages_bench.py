# SPDX-License-Identifier: Apache-2.0
"""P7: what packages cost. A second session with the same packages beside a plain one, the first
installation of a pure one, and fifty that ask for the same at once. Needs no network: wheels are
made here. Prints a table; milliseconds are medians of pairs measured in turns."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if (ROOT / "build" / "release" / "bin").is_dir():
    os.environ.setdefault("VITRINE_BUILD", str(ROOT / "build" / "release"))
sys.path[:0] = [str(ROOT / "tests" / "contract"), str(ROOT / "tests" / "packages")]

from served import Server  # noqa: E402
from wheels import wheel  # noqa: E402


def milliseconds(server: Server, code: str, **fields: object) -> float:
    """Create, first result: one connection, as a client has it."""
    connection = server.connection()
    connection.connect()
    begin = time.perf_counter()
    made = server.call("POST", "/v1/sessions", fields, over=connection)
    assert made.status == 201, made
    path = f"/v1/sessions/{made.json['id']}"
    done = server.call("POST", path + "/exec", {"code": code}, over=connection)
    taken = (time.perf_counter() - begin) * 1000
    assert done.json["outcome"] == "ok", done
    server.call("DELETE", path, over=connection)
    connection.close()
    return taken


def fifty(server: Server) -> tuple[float, int]:
    before = server.get("/v1/packages").json["installations"]
    sessions: list[object] = []
    begin = time.perf_counter()
    threads = [
        threading.Thread(target=lambda: sessions.append(server.create(packages=["vb-many"])))
        for _ in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.perf_counter() - begin
    assert len(sessions) == 50
    return taken, server.get("/v1/packages").json["installations"] - before


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=60)
    rounds = options.parse_args().rounds
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        place.chmod(0o755)
        shop = place / "wheels"
        shop.mkdir(mode=0o755)
        modules = {f"vb_pure/m{i}.py": f"x = {i}\n" for i in range(100)}
        wheel(shop, "vb_pure", files={"vb_pure/__init__.py": "", **modules})
        wheel(shop, "vb_many")
        settings = place / "packages.json"
        settings.write_text(json.dumps({"on": 1, "index_url": "none", "find_links": 1}))
        settings.chmod(0o644)
        server = Server("--wheels", str(shop), front=("--packages", str(settings)))
        stack.callback(server.end)
        server.create(imports=["typing"]).delete()  # it has looked into its image
        first = milliseconds(server, "import vb_pure", packages=["vb-pure"])
        plain, layered = [], []
        for _ in range(rounds):
            plain.append(milliseconds(server, "1"))
            layered.append(milliseconds(server, "1", packages=["vb-pure"]))
            time.sleep(0.05)  # the pool fills again, for both
        taken, installations = fifty(server)
    more = statistics.median(layered) - statistics.median(plain)
    print("| | measured | promised |")
    print("|---|---|---|")
    print(f"| a plain session and its first result, ms | {statistics.median(plain):.2f} | |")
    print(f"| the same with packages that are there, ms | {statistics.median(layered):.2f} | |")
    print(f"| more, ms | {more:.2f} | <= 10 |")
    print(f"| first installation of a pure package, no download, s | {first / 1000:.2f} | <= 3 |")
    print(f"| 50 at once for a new layer: installations | {installations} | 1 |")
    print(f"| until all 50 have their session, s | {taken:.2f} | |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
