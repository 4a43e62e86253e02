# SPDX-License-Identifier: Apache-2.0
"""What the keeper says of itself, in the order of its fields on the control socket."""

from __future__ import annotations

from typing import Any

import wire

LEVELS = ("full", "container")
CAPABILITIES = (
    "packages",
    "environments",
    "display",
    "network",
    "recordings",
    "files",
    "fork",
)


def capabilities(bits: int) -> list[str]:
    if bits >> len(CAPABILITIES):
        raise wire.ProtocolError("a capability that does not exist")
    return [name for place, name in enumerate(CAPABILITIES) if bits >> place & 1]


def keeper_info(reader: wire.Reader) -> dict[str, Any]:
    def u32() -> int:
        return reader.number("I")

    def u64() -> int:
        return reader.number("Q")

    def i32() -> int:
        return reader.number("i")

    def texts() -> list[str]:
        return [reader.text() for _ in range(reader.number("H"))]

    info: dict[str, Any] = {"instance": reader.text(), "python": reader.text()}
    info["isolation"] = {
        "level": reader.choice(LEVELS),
        "floor": reader.choice(LEVELS),
        "lost": texts(),
        "privileged": bool(reader.number("B")),
        "cgroups": reader.text(),
        "limits_level": reader.choice(("enforced", "best_effort")),
        "best_effort": texts(),
        **{name: reader.text() for name in ("memory", "processes", "cpu")},
        "landlock_abi": u32(),
    }
    info["egress"] = {"on": bool(reader.number("B")), "proxies": u32()}
    info |= {name: u32() for name in ("sessions", "capacity", "shells")}
    info["pools"] = {name: u32() for name in ("bare", "loaded", "seeded", "empty", "recycled")}
    info |= {name: i32() for name in ("keeper", "front", "builder", "foundation")}
    info["front_restarts"] = u64()
    info["encoders"] = {"running": u32(), "cpu_us": u64()}
    info["zygotes"] = [
        {
            "variant": reader.choice(tuple(wire.VARIANTS)),
            "environment": reader.text(),
            "policy": reader.choice(tuple(wire.POLICIES)),
            "pid": i32(),
            "warm": bool(reader.number("B")),
            "forks": u64(),
            "alive": u32(),
        }
        for _ in range(reader.number("H"))
    ]
    info["environments"] = [
        {"name": reader.text(), "preload": texts()} for _ in range(reader.number("H"))
    ]
    info["isolations"] = {
        reader.choice(wire.ISOLATIONS): capabilities(u32()) for _ in range(reader.number("H"))
    }
    reader.end()
    return info
