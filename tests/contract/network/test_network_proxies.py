# SPDX-License-Identifier: Apache-2.0
"""The proxy of a session: bounded, replaced when it dies, without privilege, and gone with its session."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from origins import Origin, proxies, raw
from served import Server, Session, family, until, within

pytestmark = pytest.mark.needs("network")


def test_a_thousand_connections_are_bounded_and_counted(
    server: Server, online: Session, origin: Origin
) -> None:
    code = (
        "import socket, concurrent.futures as f\n"
        "def one(n):\n"
        "    with socket.create_connection(('127.0.0.1', 3128), 60) as s:\n"
        "        s.sendall(b'CONNECT no.example:443 HTTP/1.1\\r\\n\\r\\n')\n"
        "        return s.recv(12)\n"
        "with f.ThreadPoolExecutor(32) as pool:\n"
        "    print(sum(a == b'HTTP/1.1 403' for a in pool.map(one, range(1000))))\n"
    )

    execution = online.run(code, timeout_s=60)

    assert execution["stdout"] == "1000\n", execution
    assert len(execution["network"]) == 100
    assert execution["network_omitted"] == 900
    (proxy,) = proxies(server)
    assert len(os.listdir(f"/proc/{proxy}/fd")) < 100


def test_silent_connections_do_not_keep_others_out_for_long(
    online: Session, origin: Origin
) -> None:
    code = (
        "import socket, requests\n"
        "held = [socket.create_connection(('127.0.0.1', 3128), 30) for _ in range(100)]\n"
        "for s in held[:64]: s.sendall(b'GET http://')\n"
        f"print(requests.get('http://{origin.name}/', timeout=60).text)\n"
    )

    execution = online.run(code, timeout_s=60)

    assert execution["stdout"] == "hello \n", execution
    assert "the request's headers took too long" in {e["reason"] for e in execution["network"]}


def test_a_killed_proxy_is_replaced_with_a_note(
    server: Server, online: Session, origin: Origin
) -> None:
    get = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    assert online.run(get)["stdout"] == "hello \n"
    (old,) = proxies(server)

    os.kill(old, signal.SIGKILL)
    assert until(lambda: proxies(server) not in ([], [old]))
    execution = online.run(get)

    assert execution["stdout"] == "hello \n"
    assert [n.partition(":")[0] for n in execution["notes"]] == ["network_proxy_restarted"]
    assert online.run(get)["notes"] == []


def test_a_proxy_that_dies_again_and_again_is_given_up(server: Server, online: Session) -> None:
    for _ in range(5):
        (pid,) = until(lambda: proxies(server))
        os.kill(pid, signal.SIGKILL)
        assert until(lambda pid=pid: pid not in proxies(server))

    def noted() -> bool:
        names = {n.partition(":")[0] for n in online.run("1")["notes"]}
        return "network_proxy_gone" in names

    assert until(noted)
    execution = online.run("import socket; socket.create_connection(('127.0.0.1', 3128), 5)")
    assert execution["error"]["name"] == "ConnectionRefusedError"


def test_the_front_may_die_and_the_record_goes_on(
    server: Server, online: Session, origin: Origin
) -> None:
    get = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    assert len(online.run(get)["network"]) == 1
    rules = online.show()["network"]

    server.kill_front()
    execution = online.run(get)

    assert execution["stdout"] == "hello \n"
    assert [e["decision"] for e in execution["network"]] == ["allowed"]
    assert online.show()["network"] == rules == {"allow": [origin.name]}


@pytest.mark.parametrize("files", ["wipe", "keep"])
def test_a_reset_session_has_a_network_and_one_proxy(
    server: Server, online: Session, origin: Origin, files: str
) -> None:
    get = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"
    online.run(get)
    (old,) = proxies(server)

    answer = online.call("POST", "/reset", {"files": files})
    execution = online.run(get)

    assert answer.status == 200, answer
    assert execution["stdout"] == "hello \n", execution
    assert len(execution["network"]) == 1
    (new,) = until(lambda: len(proxies(server)) == 1 and proxies(server))
    assert new != old


def test_a_one_shot_has_a_network_and_leaves_nothing(server: Server, origin: Origin) -> None:
    code = f"import requests; print(requests.get('http://{origin.name}/', timeout=30).text)"

    for _ in range(5):
        answer = server.post("/v1/run", {"code": code, "network": {"allow": [origin.name]}})
        assert answer.json["stdout"] == "hello \n", answer
        assert answer.json["network"][0]["decision"] == "allowed"
    sealed = server.post("/v1/run", {"code": "import os; print('HTTP_PROXY' in os.environ)"})

    assert sealed.json["stdout"] == "False\n"
    assert "network" not in sealed.json
    assert proxies(server) == []


def test_the_proxy_has_a_user_id_of_its_own_and_no_privilege(
    server: Server, online: Session
) -> None:
    online.run(raw(b"CONNECT no.example:443 HTTP/1.1\r\n\r\n"))  # it answers, so it is sealed
    (pid,) = proxies(server)
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if ":\t" in line
    )

    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    if os.geteuid() == 0:
        others = {os.stat(f"/proc/{one}").st_uid for one in (server.front(), online.worker())}
        assert int(status["Uid"].split()[0]) not in {0, *others}
        assert set(status["CapEff"].strip()) == {"0"} and set(status["CapPrm"].strip()) == {"0"}
    targets = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    assert sum(t == "/dev/null" for t in targets) == 3
    assert all(
        t.startswith(("/dev/null", "socket:", "anon_inode:", "/memfd:egress")) for t in targets
    )


def test_networks_that_come_and_go_leave_nothing(server: Server, origin: Origin) -> None:
    def spaces() -> int:
        found = set()
        for pid, _ in family(server.process.pid):
            try:
                found.add(os.readlink(f"/proc/{pid}/ns/net"))
            except OSError:
                pass
        return len(found)

    def fds() -> int:
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    def round() -> None:
        session = server.create(network={"allow": [origin.name]})
        session.run("import socket; s = socket.create_connection(('127.0.0.1', 3128), 30)")
        assert session.delete().status == 204
        assert proxies(server) == []

    def full() -> bool:
        pools = server.info()["pools"]
        return bool(pools["empty"] >= 16 and pools["loaded"] >= 4)

    for _ in range(3):
        round()
    settled = until(lambda: full() and (fds(), spaces()))
    for _ in range(25):
        round()

    def as_before() -> bool:
        return full() and (fds(), spaces()) <= settled

    assert within(as_before), (settled, fds(), spaces())
    assert server.info()["egress"]["proxies"] == 0
