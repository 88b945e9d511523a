"""Calls a tool over MCP and says how long each call took, seen from the program that calls.

    python3 mcp-client.py socket PATH        over a Unix socket
    python3 mcp-client.py stdio COMMAND ...  over the stdin and stdout of a program

Each line of stdin is a number of calls and how many may be under way at once: "1 1", "2000 32". A third number is
how many of them are made in a second at most: "1000 10 1000". The answer is a line of JSON with the milliseconds of all
of them together.
"""

import json
import socket
import subprocess
import sys
import time

kind, *rest = sys.argv[1:]
if kind == "socket":
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(rest[0])
    reader, writer = connection.makefile("rb"), connection.makefile("wb")
else:
    child = subprocess.Popen(rest, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    reader, writer = child.stdout, child.stdin

last = 0


def send(method, params, with_id=True):
    global last
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if with_id:
        last += 1
        message["id"] = last
    writer.write(json.dumps(message).encode() + b"\n")
    writer.flush()


def receive():
    answer = json.loads(reader.readline())
    if "error" in answer or answer.get("result", {}).get("isError"):
        raise SystemExit(f"a call failed: {answer}")


hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
send("initialize", hello)
receive()
send("notifications/initialized", {}, with_id=False)
call = {"name": "echo", "arguments": {"text": "a word or two"}}
for line in sys.stdin:
    count, at_once, *rate = map(int, line.split())
    began = time.perf_counter()
    sent = 0
    for received in range(count):
        if rate and sent == received:
            time.sleep(max(0, began + sent / rate[0] - time.perf_counter()))
        while sent < count and sent - received < at_once and not (rate and sent > received and sent % at_once == 0):
            send("tools/call", call)
            sent += 1
        receive()
    print(json.dumps((time.perf_counter() - began) * 1000), flush=True)
