"""The kernel's messages to its host, and the standard streams that they share pipes with.

Messages go out as frames within standard output: a mark with the context's token, a length, and a piece of
JSON. A frame is written in one piece that a pipe never tears apart, so whatever else is written to the same
pipe stands before or behind it.
"""

import json
import os
import select
import sys
import threading

LARGEST_FRAME = 4096  # PIPE_BUF: the most that a pipe takes without tearing
BROKEN_LINE = 70  # exit code: the host cannot be reached any more


class Wire:
    def __init__(self, interrupts, token):
        self.interrupts = interrupts
        self.mark = b"\x1e" + token.encode()
        self.room = LARGEST_FRAME - len(self.mark) - 5
        self.home = os.getpid()
        self.lock = threading.Lock()
        # Copies that user code does not hold by number 0, 1 or 2, and that its children do not inherit.
        self.out, self.err = os.dup(1), os.dup(2)
        self.empty_stdin()
        self.restore_streams()

    def empty_stdin(self):
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def restore_streams(self):
        """Standard output and error are there at the start of every run, whatever the last one did to them."""
        for name, number, copy in (("stdout", 1, self.out), ("stderr", 2, self.err)):
            try:
                os.fstat(number)
            except OSError:
                os.dup2(copy, number)
            stream = getattr(sys, name)
            if stream is None or getattr(stream, "closed", False):
                stream = open(number, "w", closefd=False)
                setattr(sys, name, stream)
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # a stream that user code put there may do anything
                pass

    def send(self, message):
        if os.getpid() != self.home:  # a forked copy of the kernel has no say
            return
        self.flush()
        payload = json.dumps(message, allow_nan=False).encode()
        self.interrupts.hold()
        try:
            with self.lock:
                self.write_frames(self.out, payload)
        finally:
            self.interrupts.release()

    def end_run(self, number):
        """Marks the end on both pipes, so that the host knows when it has read all of each."""
        self.flush()
        payload = json.dumps({"type": "done", "run": number}).encode()
        with self.lock:
            self.write_frames(self.err, payload)
            self.write_frames(self.out, payload)

    def write_frames(self, descriptor, payload):
        for start in range(0, len(payload), self.room):
            piece = payload[start : start + self.room]
            kind = b"." if start + self.room >= len(payload) else b"+"
            self.write(descriptor, self.mark + kind + b"%04x" % len(piece) + piece)

    def write(self, descriptor, frame):
        while True:
            try:
                os.write(descriptor, frame)
                return
            except BlockingIOError:  # a child made the shared pipe non-blocking
                select.select([], [descriptor], [])
            except OSError:
                os._exit(BROKEN_LINE)
