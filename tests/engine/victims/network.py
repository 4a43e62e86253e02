# SPDX-License-Identifier: Apache-2.0
"""Attempts to reach anything outside over a network."""

import os
import socket

from probes import attempt, report

HOST_PORT = int(os.environ["HOST_PORT"])
HOST_ABSTRACT = os.environ["HOST_ABSTRACT"]
ADDRESSES = ["1.1.1.1", "10.0.0.1", "172.17.0.1", "192.168.0.1", "169.254.169.254"]


def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(5)
        return attempt(one.connect, address)


def send(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        return attempt(one.sendto, b"x", address)


def make(*arguments):
    result = attempt(socket.socket, *arguments)
    if isinstance(result, socket.socket):
        result.close()
        return "made"
    return result


def resolve(name):
    try:
        return socket.getaddrinfo(name, 80)[0][4][0]
    except socket.gaierror:
        return "gaierror"


def lines(path):
    with open(path) as file:
        return file.read().splitlines()[1:]


report(
    interfaces=[name for _, name in socket.if_nameindex()],
    routes=lines("/proc/net/route"),
    routes6=[line for line in lines("/proc/net/ipv6_route") if line.split()[-1] != "lo"],
    tcp={a: connect(socket.AF_INET, socket.SOCK_STREAM, (a, 80)) for a in ADDRESSES},
    tcp6=connect(socket.AF_INET6, socket.SOCK_STREAM, ("2606:4700:4700::1111", 80)),
    udp={a: send((a, 53)) for a in ADDRESSES},
    host_loopback=connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", HOST_PORT)),
    raw_icmp=make(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    unix_listed=lines("/proc/net/unix"),
    abstract=connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + HOST_ABSTRACT),
    names={name: resolve(name) for name in ("example.com", "metadata.google.internal")},
    localhost=resolve("localhost"),
    bind_low=attempt(socket.socket().bind, ("127.0.0.1", 80)),
)
