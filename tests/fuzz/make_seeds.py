# SPDX-License-Identifier: Apache-2.0
"""Writes the seed corpora: one small, valid input of each kind. Run again when the wire changes.

It encodes by hand, from docs/session-socket.md alone, so it also checks that the page is right:
a fuzzer that starts from refused seeds has less to go by. src/wire/seeds_test.cc fails on a seed of
the wire that its decoder refuses.
"""

from pathlib import Path
from struct import pack

HERE = Path(__file__).resolve().parent / "corpus"

SETUP, EXECUTE, INPUT, RESUME, CAPTURED = 1, 2, 3, 4, 5
READY, RESULT, ERROR, NOTE, INPUT_REQUEST, STACK, FINISHED, PAINTED, LINE = range(64, 73)
MORE, REST, REPLAY = 1, 2, 4


def text(value: bytes) -> bytes:
    return pack("<I", len(value)) + value


def environment(**variables: bytes) -> bytes:
    pairs = [text(name.encode()) + text(value) for name, value in variables.items()]
    return pack("<H", len(pairs)) + b"".join(pairs)


MESSAGES = {
    "setup": (
        SETUP,
        environment(A=b"1", LANG=b"C.UTF-8") + pack("<BQBH", 1, 7, 1, 1) + text(b"decimal")
        + b"\1",
    ),
    "setup_empty": (SETUP, environment() + pack("<BQBHB", 0, 0, 0, 0, 0)),
    "execute": (
        EXECUTE,
        text(b"x = 1\nx") + b"\x01" + text(b"line\n") + environment(K=b"v")
        + pack("<QII", 1 << 20, 500, 10),
    ),
    "execute_empty": (
        EXECUTE,
        text(b"") + b"\0" + text(b"") + environment() + pack("<QII", 1024, 0, 0),
    ),
    "input": (INPUT, b"\0" + text(b"yes\n")),
    "input_end": (INPUT, b"\x01" + text(b"")),
    "resume": (RESUME, pack("<Q", 5)),
    "ready": (READY, text(b"3.11.2") + pack("<QQ", 3, 5)),
    "result": (
        RESULT,
        b"\0" + text(b"") + pack("<H", 2) + text(b"text/plain") + text(b"42")
        + text(b"image/png") + text(b"\x89PNG") + text(b"{}"),
    ),
    "result_update": (
        RESULT,
        b"\x02" + text(b"id") + pack("<H", 1) + text(b"text/html") + text(b"<b>") + text(b"{}"),
    ),
    "error": (ERROR, text(b"ValueError") + text("\u00e4".encode()) + text(b"Traceback")),
    "input_request": (INPUT_REQUEST, text(b"Name? ") + b"\0"),
    "finished": (FINISHED, b"\x01\x01"),
    "line": (LINE, pack("<I", 12)),
    "utf8": (0, "a\u00e9\u20ac\U0001f600".encode()),
}  # fmt: skip


def frame(kind: int, flags: int, execution: int, sequence: int, payload: bytes) -> bytes:
    header = pack("<2sBBB3xQII", b"VT", 1, kind, flags, execution, sequence, len(payload))
    return header + payload


def stream(direction: int, *datagrams: bytes | None) -> bytes:
    """None = a new reader adopts the stream."""
    parts = [b"\xff\xff" if d is None else pack("<H", len(d)) + d for d in datagrams]
    return bytes([direction]) + b"".join(parts)


def payload(name: str) -> bytes:
    return MESSAGES[name][1]


FROM_WORKER, FROM_CLIENT = 0, 1
NOTE_0 = frame(NOTE, 0, 1, 0, b"a note")
HEAD = frame(RESULT, MORE, 1, 1, b"abc")
MIDDLE = frame(RESULT, MORE | REST, 1, 2, b"def")
TAIL = frame(RESULT, REST, 1, 3, b"ghi")
END = frame(FINISHED, 0, 1, 4, b"\0\0")
STREAMS = {
    "execution": stream(
        FROM_WORKER,
        frame(READY, 0, 0, 0, payload("ready")),
        NOTE_0, HEAD, MIDDLE, TAIL, END,
        frame(NOTE, 0, 2, 0, b"the next one"),
    ),
    "stack_between": stream(
        FROM_WORKER, NOTE_0, HEAD, frame(STACK, 0, 1, 0, b"File"), MIDDLE, TAIL,
    ),
    "line_between": stream(
        FROM_WORKER, NOTE_0, HEAD, frame(LINE, 0, 1, 0, pack("<I", 3)), MIDDLE, TAIL,
    ),
    "adopted": stream(
        FROM_WORKER,
        NOTE_0, HEAD, None, MIDDLE, TAIL, END,
        frame(READY, REPLAY, 1, 0, payload("ready")),
        frame(NOTE, REPLAY, 1, 0, b"a note"),
    ),
    "client": stream(
        FROM_CLIENT,
        frame(SETUP, 0, 0, 0, payload("setup")),
        frame(EXECUTE, MORE, 1, 0, payload("execute")[:9]),
        frame(EXECUTE, REST, 1, 1, payload("execute")[9:]),
        frame(INPUT, 0, 1, 0, payload("input")),
    ),
    "client_died": stream(
        FROM_CLIENT,
        frame(EXECUTE, MORE, 1, 0, b"abc"),
        frame(RESUME, 0, 0, 0, pack("<Q", 5)),
        frame(EXECUTE, 0, 1, 0, payload("execute")),
    ),
    "together": stream(
        FROM_WORKER,
        NOTE_0 + frame(RESULT, 0, 1, 1, payload("result")) + frame(FINISHED, 0, 1, 2, b"\0\0"),
    ),
    "painted": stream(
        FROM_WORKER, NOTE_0, frame(PAINTED, 0, 1, 1, b""), frame(FINISHED, 0, 1, 2, b"\0\0"),
    ),
    "captured": stream(
        FROM_CLIENT,
        frame(EXECUTE, 0, 1, 0, payload("execute")),
        frame(CAPTURED, 0, 1, 0, b""),
    ),
    "out_of_order": stream(FROM_WORKER, NOTE_0, END),
    "two_mixed": stream(FROM_WORKER, NOTE_0, HEAD, frame(ERROR, REST, 1, 2, b"x")),
}  # fmt: skip


LIMITS = pack("<QIIQQQQ", 512 << 20, 1000, 64, 256 << 20, 1 << 20, 30_000, 1_800_000)
ONE, TWO, THREE = pack("<Q", 1), pack("<Q", 2), pack("<Q", 3)
REQUESTS = {
    "create": b"\x01\0" + LIMITS + b"\1" + pack("<I", 1) + text(b"a.org:80") + pack("<BH", 0, 0)
    + pack("<II", 800, 600) + text(b"") + b"\x02\0\x02" + text(b"a" * 64) + text(b"b" * 64),
    "end": ONE, "interrupt": ONE + TWO, "ask_stack": ONE + TWO,
    "watch": ONE + TWO + THREE, "unwatch": ONE + TWO, "kill": ONE, "reset": ONE + b"\x01",
    "list": ONE, "attach": ONE, "ask_usage": ONE, "info": b"",
    "open_file": ONE + text(b"a/b"), "new_file": ONE + text(b"a/b"),
    "commit_file": ONE + text(b"a/b") + text(b".x"), "remove_file": ONE + text(b"a"),
    "list_files": ONE + text(b"") + text(b"m"), "freeze": ONE + b"\x01",
    "end_loop": ONE + TWO + b"\x01", "open_display": ONE + b"\x01", "start_encoder": ONE,
    "mount_layers": ONE + b"\x01" + text(b"a" * 64),
}  # fmt: skip
REPLIES = {
    "error": b"\x03" + text(b"full") + text(b"wait"), "done": b"",
    "opened": ONE + b"\x02" + TWO + b"\x03\0\1\2",
    "listed": pack("<BIQQBBQQBBBi", 0, 2, 1, 0, 0, 0, 2, 3, 1, 1, 2, 9),
    "used": ONE + TWO + THREE, "keeper_info": None,  # too long to write by hand: see wire_seeds.cc
    "file_opened": ONE + TWO + text(b".x"),
    "files_listed": pack("<BI", 1, 1) + text(b"name") + b"\0" + ONE + TWO,
}  # fmt: skip
EVENTS = {"died": ONE + pack("<Bi", 1, 9), "timed_out": ONE + TWO}
CONTROL = {
    **{n: b"\0" + pack("<BI", i, 7) + data for i, (n, data) in enumerate(REQUESTS.items())},
    **{
        n: b"\1" + pack("<BIB", 1, 7, i) + data
        for i, (n, data) in enumerate(REPLIES.items())
        if data is not None
    },
    **{n: b"\1" + pack("<BB", 2, i) + data for i, (n, data) in enumerate(EVENTS.items())},
}
# From docs/api.md.
BODIES = {
    "session": b'\0{"name": "demo", "env": {"K": "v"}, "seed": 7, "limits": {"memory_mb": 256}}',
    "session_limits": b'\0{"limits": {"cpus": 0.5, "processes": 64, "disk_mb": 256, '
    b'"output_kb": 1024, "exec_timeout_s": 30, "idle_timeout_s": 1.5e3}}',
    "session_refused": b'\0{"isolation": "none", "env": {"LD_PRELOAD": "x"}, "display": {}}',
    "exec": b'\1{"code": "x = 20\\nx + 22", "timeout_s": 0.5, "stdin": "in", '
    b'"env": {"A": "b"}, "on_disconnect": "continue"}',
    "exec_escapes": b'\1{"c\\u006fde": "\\ud83c\\udf89 \\\\ \\"", "render_timeout": null}',
    "twice": b'\1{"code": "1", "\\u0063ode": "2"}',
    "deep": b'\1{"code": [[[[[[{"a": [{}]}]]]]]]}',
}
TARGETS = {
    "list": b"\0/v1/sessions?limit=2&after=2026-11-15T21:37:18.467Z_" + b"0123456789abcdef" * 2,
    "history": b"\0/v1/sessions/0123456789abcdef0123456789abcdef/executions?after=13",
    "file": b"\0/v1/sessions/a/files/data/%C3%BC%20b.csv?archive=tar",
    "absolute": b"\0http://127.0.0.1:8000/v1/info?x=a+b",
    "broken": b"\0/v1/%zz?limit=%4",
    "range": b"\1" + pack("<Q", 10) + b"bytes=2-4",
    "range_open": b"\1" + pack("<Q", 10) + b"bytes=7-",
    "range_last": b"\1" + pack("<Q", 10) + b"bytes=-3",
    "range_empty_file": b"\1" + pack("<Q", 0) + b"bytes=0-0",
}
ARCHIVE = {
    "file": b"\0" + pack("<QQ", 12, 1763300000000) + b"data/table.csv",
    "directory": b"\1" + pack("<QQ", 0, 0) + b"data/",
    "long": b"\0" + pack("<QQ", 1 << 40, 1) + b"a" * 99 + b"/" + b"b" * 200,
    "odd": b"\0" + pack("<QQ", 1, 1) + '\u00fc "x"; a=b\r\nX: y'.encode(),
}


EGRESS = {
    "connect": b"\0CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n",
    "get": b"\0GET http://example.org/a?b HTTP/1.1\r\nHost: x\r\nConnection: a, b\r\n\r\n",
    "post": b"\0POST http://[2001:db8::1]:80/ HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
    "many": b"\0GET http://a.org/ HTTP/1.1\r\n" + b"A: b\r\n" * 100 + b"\r\n",
    "bare": b"\0GET http://a.org/ HTTP/1.1\nA: b\r\n\r\n",
    "rule": b"\1*.example.org:8443",
    "rule_v6": b"\1[2001:db8::1]:443",
    "range": b"\0010.1.0.0/16",
    "decided": b"\2\1" + ONE + pack("<I", 3) + text(b"a.org") + pack("<HB", 443, 0) + text(b"r")
    + text(b"1.2.3.4") + TWO + THREE,
    "closed": b"\2\2" + ONE + TWO + THREE,
    "setup": b"\3" + pack("<I", 1) + text(b"a.org") + pack("<I", 1) + text(b"10.0.0.0/8")
    + pack("<HI", 40123, 0),
}  # fmt: skip

# From src/wire/screen.h: a number, the kind, the fields.
NO_POINT, POINT = b"\0", b"\1" + pack("<ii", 10, 20)
INPUT_EVENTS = [
    pack("<ii", 5, 6), POINT + b"\1\2", pack("<iiiiBH", 1, 2, 30, 40, 1, 10),
    POINT + pack("<hh", 0, -3), text("a\u00e9\U0001f600\n".encode()), text(b"ctrl+s"),
    NO_POINT + b"\3", NO_POINT + b"\3", text(b"Shift_L"), text(b"Shift_L"),
    pack("<I", 50), pack("<I", 0x400001),
]  # fmt: skip
SCREEN_INPUT = b"".join(bytes([kind]) + data for kind, data in enumerate(INPUT_EVENTS))
WINDOW = (
    pack("<I", 0x400001) + text(b"title") + pack("<iiII", -3, 4, 300, 200)
    + b"\0\1\1" + pack("<II", 2, 0)
)  # fmt: skip
SCREEN = {
    **{
        f"request_{name}": b"\1" + pack("<IB", 7, kind) + data
        for kind, (name, data) in enumerate({
            "list": b"", "input": pack("<H", len(INPUT_EVENTS)) + SCREEN_INPUT,
            "capture": pack("<I", 9),
        }.items())
    },
    **{
        name: b"\0" + pack("<IB", 7 if kind else 0, kind) + data
        for kind, (name, data) in enumerate({
            "ready": b"\1", "windows": b"\1" + pack("<H", 2) + WINDOW + WINDOW, "delivered": b"",
            "refused": text(b"no such key") + pack("<BH", 1, 3), "captured": pack("<II", 640, 480),
        }.items())
    },
}  # fmt: skip
# From src/wire/encoder.h: the kind, the fields.
RECORDED = pack("<QQQ", 90, 12345, 3000)
ENCODER = {
    "start": b"\1\0" + pack("<IIQIIBIQ", 1024, 768, 3232, 4096, 15, 1, 600, 1 << 28),
    "stop": b"\1\1",
    "started": b"\0\0" + pack("<III", 1024, 768, 15) + text(b"h264"),
    "progress": b"\0\1" + RECORDED,
    "stopped": b"\0\2" + RECORDED + b"\4" + text(b"no space"),
}
# What an index answers to a GET (0) or HEAD (1), what an installation asks (2), URLs (3), and
# the front's messages to the gateway (4) and back (5), from src/wire/gateway.h; the second byte
# says where an answer is cut in two.
OK, HTML = b"HTTP/1.1 200 OK\r\n", b"Content-Type: text/html; charset=utf-8\r\n"
LINK = b'<a href="http://127.0.0.1:INDEX/files/a-1.0-py3-none-any.whl#sha256=00">a</a>'
GATEWAY = {
    "page": b"\0\x40" + OK + HTML + b"Content-Length: %d\r\nETag: x\r\n\r\n%s" % (len(LINK), LINK),
    "page_chunked": b"\0\x80" + OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n"
    b"10;name=value\r\n" + LINK[:16] + b"\r\n%x\r\n%s" % (len(LINK) - 16, LINK[16:])
    + b"\r\n0\r\nTrailer: x\r\n\r\n",
    "page_json": b"\0\x08" + OK + b"Content-Type: application/vnd.pypi.simple.v1+json\r\n\r\n"
    b'{"files": [{"url": "http://127.0.0.1:INDEX/files/a.whl", "hashes": {}}], "name": "a"}',
    "page_short": b"\0\0" + OK + HTML + b"Content-Length: 600\r\n\r\n" + LINK,
    "file": b"\0\x20" + OK + b"Content-Type: application/zip\r\nContent-Length: 4\r\n"
    b"Accept-Ranges: bytes\r\nLast-Modified: x\r\nSet-Cookie: a=b\r\n\r\nPK\3\4",
    "file_part": b"\0\x20HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/9\r\n"
    b"Content-Length: 4\r\n\r\nPK\3\4",
    "file_chunked": b"\0\x60" + OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nPK\3\4\r\n0\r\n\r\n",
    "moved": b"\0\0HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:INDEX/files/a\r\n"
    b"Content-Length: 0\r\n\r\n",
    "unchanged": b"\0\0HTTP/1.1 304 Not Modified\r\nETag: W/\"a\"\r\nCache-Control: a, b\r\n\r\n",
    "continues": b"\0\0HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx",
    "folded": b"\0\0" + OK + b"Content-Type: text/html;\r\n charset=x\r\n\r\nx",
    "both": b"\0\0" + OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "head": b"\1\0" + OK + HTML + b"Content-Length: 60\r\n\r\n",
    "asks": b"\2\0GET /simple/a/ HTTP/1.1\r\nAccept: text/html\r\nRange: bytes=0-3\r\n\r\n",
    "asks_head": b"\2\0HEAD /files/a HTTP/1.1\r\nIf-None-Match: x\r\nCookie: a\r\n\r\n",
    "asks_post": b"\2\0POST /simple/ HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
    "asks_elsewhere": b"\2\0GET http://other.org/x HTTP/1.1\r\nHost: other.org\r\n\r\n",
    "asks_twice": b"\2\0GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n",
    "url": b"\3\0https://us%40er:p%3Aw@Index.Example.org:8443/simple/?x#y",
    "url_v6": b"\3\0http://[2001:db8::1]:80/simple",
    "url_odd": b"\3\0http://[x@y:db8::1]:80/simple",
    "host": b"\3\0*.files.example.org:8443",
    "start": b"\4\0\0",
    "admit": b"\4\0\1" + text(b"Basic dml0cmluZTp4") + b"\1" + text(b"index.example.org")
    + text(b"8443") + text(b"/simple") + text(b"Basic dXNlcjpzZWNyZXQ="),
    "release": b"\4\0\2" + text(b"Basic dml0cmluZTp4"),
    "started": b"\5\0\0",
    "failed": b"\5\0\1" + text(b"no certificates"),
}  # fmt: skip


def main() -> None:
    for folder, seeds in {
        "message": {name: bytes([kind]) + data for name, (kind, data) in MESSAGES.items()},
        "frame": STREAMS,
        "control": CONTROL,
        "request": BODIES,
        "target": TARGETS,
        "archive": ARCHIVE,
        "egress": EGRESS,
        "screen": SCREEN,
        "encoder": ENCODER,
        "gateway": GATEWAY,
    }.items():
        (HERE / folder).mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (HERE / folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
