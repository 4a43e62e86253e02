# SPDX-License-Identifier: Apache-2.0
# N01: reaches the outside by TCP, UDP and ICMP
# tcp: ENETUNREACH|EACCES
# udp: ENETUNREACH
# raw: EPERM|EACCES
import socket

from tools import tell, tried

HOSTS = (
    "1.1.1.1",
    "10.0.0.1",
    "172.17.0.1",
    "192.168.0.1",
    "169.254.169.254",
    "224.0.0.1",
    "8.8.8.8",
)
tcp, udp = [], []
for host in HOSTS:
    with socket.socket() as one:
        one.settimeout(3)
        tcp.append(tried(one.connect, (host, 80)))
    with socket.socket(type=socket.SOCK_DGRAM) as one:
        udp.append(tried(one.sendto, b"x", (host, 53)))
with socket.socket(socket.AF_INET6) as one:
    tcp.append(tried(one.connect, ("2606:4700:4700::1111", 80)))
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as one:
    udp.append(tried(one.sendto, b"x", ("ff02::1%lo", 53)) and "ENETUNREACH")
raw = [
    tried(socket.socket, family, kind, protocol)
    for family, kind, protocol in ((2, 3, 1), (2, 3, 255), (10, 3, 58), (2, 2, 1), (2, 5, 132))
]
tell(
    tcp=tcp,
    udp=udp,
    raw=[r.replace("EPROTONOSUPPORT", "EPERM").replace("ESOCKTNOSUPPORT", "EPERM") for r in raw],
)
