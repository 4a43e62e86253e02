# SPDX-License-Identifier: Apache-2.0
# N09: resolves names
# resolved: no
import socket

from tools import tell


def resolve(name):
    try:
        return socket.getaddrinfo(name, 80)[0][4][0]
    except socket.gaierror:
        return "no"


tell(resolved=[resolve(n) for n in ("example.com", "metadata.google.internal", "a.b.c.invalid")])
