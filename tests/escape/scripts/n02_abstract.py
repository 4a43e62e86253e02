# SPDX-License-Identifier: Apache-2.0
# N02: abstract unix sockets of the host; the session's own is where its programs request packages
# listed: nothing
# connected: ECONNREFUSED|EPERM
import socket

from tools import tell, tried

with open("/proc/net/unix") as file:
    listed = [
        line
        for line in file.read().splitlines()[1:]
        if "@" in line and not line.endswith(" @vitrine-packages")
    ]
NAMES = ("/tmp/.X11-unix/X0", "/tmp/dbus", "/run/systemd/notify", "vitrine")
connected = []
for name in NAMES:
    with socket.socket(socket.AF_UNIX) as one:
        connected.append(tried(one.connect, "\0" + name))
tell(listed=listed, connected=connected)
