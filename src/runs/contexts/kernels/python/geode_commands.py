"""What the host asks for: lines of JSON on what was standard input.

The kernel waits for them between runs. During a run nobody does, so the system is asked for a signal (SIGIO)
when something has come; its handler takes what is there, which never waits.
"""

import collections
import fcntl
import json
import os

PIECE = 65536


class Commands:
    def __init__(self, file, on_interrupt):
        self.file = file  # keeps the descriptor open
        self.descriptor = file.fileno()
        self.on_interrupt = on_interrupt
        self.waiting = False  # the kernel itself is looking for the next command
        self.line = []
        self.queue = collections.deque()
        self.ended = False
        self.taking = False
        self.again = False
        os.set_blocking(self.descriptor, False)

    def ask_for_signals(self):
        fcntl.fcntl(self.descriptor, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(self.descriptor, fcntl.F_GETFL)
        fcntl.fcntl(self.descriptor, fcntl.F_SETFL, flags | os.O_ASYNC)

    def next(self, wait):
        """The next command, or None when the host has hung up. `wait` returns when there is something to read."""
        self.waiting = True
        while True:
            self.take()
            if self.queue or self.ended:
                break
            wait(self.descriptor)
        self.waiting = False
        return self.queue.popleft() if self.queue else None

    def take(self):
        """Takes what has come. A signal may call it in the middle of itself: then it begins again."""
        if self.taking:
            self.again = True
            return
        self.again = True
        while self.again:
            self.taking, self.again = True, False
            try:
                self.read()
            finally:
                self.taking = False

    def read(self):
        while not self.ended:
            try:
                piece = os.read(self.descriptor, PIECE)
            except BlockingIOError:
                return
            except OSError:
                piece = b""
            self.ended = not piece
            *ends, rest = piece.split(b"\n")
            for end in ends:
                self.line.append(end)
                command = json.loads(b"".join(self.line))
                self.line = []
                if command["type"] == "interrupt":
                    self.on_interrupt(command["run"])
                elif command["type"] != "nudge":  # its signal is all that it is for
                    self.queue.append(command)
            self.line.append(rest)
