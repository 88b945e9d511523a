"""Connects to the server of egress-server.ts and says how long it took, seen from the program that connects.

    python3 egress-client.py HOST PORT none         directly
    python3 egress-client.py HOST PORT 127.0.0.1:1  through that HTTP proxy
    python3 egress-client.py HOST PORT variable     through the one that HTTP_PROXY names

Each line of stdin is a word and its numbers, and is answered by a line of JSON with milliseconds:

    connect             from nothing to the first byte of the server
    download BYTES      over one connection
    many COUNT BYTES    that many downloads at once: [the one in the middle, the slowest]
    hold COUNT          opens that many connections beside those that are held, and keeps them
    await-cut           answers when the other side has closed all that are held
    release             closes all that are held
    stream URL          a streamed answer over HTTP: [its first byte, its last]
"""

import asyncio
import json
import os
import select
import socket
import sys
import time
from urllib.parse import urlsplit

host, port, proxy = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if proxy == "variable":
    proxy = urlsplit(os.environ["HTTP_PROXY"]).netloc
entry = (host, port) if proxy == "none" else (proxy.split(":")[0], int(proxy.split(":")[1]))
tunnel = f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
patience = 60
held = []


def asked(count):
    return b"\0" + count.to_bytes(8, "big")


def through():
    connection = socket.create_connection(entry, patience)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if proxy != "none":
        connection.sendall(tunnel)
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            more = connection.recv(1)
            if not more:
                raise SystemExit(f"the proxy closed after {answer!r}")
            answer += more
        if b" 200 " not in answer.split(b"\r\n")[0]:
            raise SystemExit(f"the proxy answered {answer!r}")
    return connection


def take(connection, count):
    connection.sendall(asked(count))
    room = memoryview(bytearray(1 << 20))
    while count > 0:
        came = connection.recv_into(room)
        if came == 0:
            raise SystemExit("the connection broke off")
        count -= came


def download(count):
    connection = through()
    began = time.perf_counter()
    take(connection, count)
    took = time.perf_counter() - began
    connection.close()
    return took * 1000


def connect():
    began = time.perf_counter()
    connection = through()
    take(connection, 1)
    took = time.perf_counter() - began
    connection.close()
    return took * 1000


async def one(count):
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection(*entry)
    if proxy != "none":
        writer.write(tunnel)
        answer = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answer.split(b"\r\n")[0]:
            raise SystemExit(f"the proxy answered {answer!r}")
    writer.write(asked(count))
    while count > 0:
        came = len(await reader.read(1 << 16))
        if came == 0:
            raise SystemExit("the connection broke off")
        count -= came
    writer.close()
    return time.perf_counter() - began


async def many(connections, count):
    took = sorted(await asyncio.gather(*(one(count) for _ in range(connections))))
    return [took[len(took) // 2] * 1000, took[-1] * 1000]


def hold(count):
    began = time.perf_counter()
    for _ in range(count):
        connection = through()
        take(connection, 1)
        held.append(connection)
    return (time.perf_counter() - began) * 1000


def await_cut():
    began = time.perf_counter()
    poll = select.poll()
    for connection in held:
        poll.register(connection, select.POLLIN)
    left = len(held)
    while left > 0:
        for descriptor, _ in poll.poll():
            poll.unregister(descriptor)
            left -= 1
    release()
    return (time.perf_counter() - began) * 1000


def release():
    for connection in held:
        connection.close()
    held.clear()
    return 0


def stream(url):
    url = urlsplit(url)
    began = time.perf_counter()
    connection = socket.create_connection((url.hostname, url.port), patience)
    body = b'{"stream":true}'
    head = f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    seen, first = b"", None
    while more := connection.recv(1 << 16):
        if first is None and b"data: " in (seen := seen + more):
            first = time.perf_counter() - began
            seen = seen[:64]
    if not seen.startswith(b"HTTP/1.1 200 "):
        raise SystemExit(f"the server answered {seen!r}")
    return [first * 1000, (time.perf_counter() - began) * 1000]


for line in sys.stdin:
    word, *rest = line.split()
    if word == "many":
        answer = asyncio.run(many(*map(int, rest)))
    elif word == "stream":
        answer = stream(*rest)
    else:
        work = {"connect": connect, "download": download, "hold": hold, "await-cut": await_cut, "release": release}
        answer = work[word](*map(int, rest))
    print(json.dumps(answer), flush=True)
