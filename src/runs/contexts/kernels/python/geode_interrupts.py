"""An interrupt is meant for one run: it ends that run, or nothing.

It comes at any moment. KeyboardInterrupt is raised in user code only: not in the kernel's, where a message may
be half-way, and not in the event loop's, which would be left in disorder. There it waits, or cancels what is
awaited. All of this happens in the main thread, where python runs signal handlers.
"""

import _thread
import os
import signal
import threading
from time import sleep


class Interrupts:
    def __init__(self):
        self.home = os.getpid()
        self.main = threading.get_ident()
        self.commands = None
        self.run = 0  # the run whose code is under way
        self.wanted = 0  # the run that is to end
        self.insisting = 0  # the run whose interrupt is repeated until it has ended
        self.holds = 0  # parts of the kernel that must not be left half-way
        self.loop = None
        self.task = None  # what the run awaits on the loop
        self.outside = ()  # functions of the kernel that a run's code is behind, or not yet in
        self.driver = None  # the function of the kernel that runs the loop

    def want(self, run):
        self.wanted = run

    def listen(self, commands):
        self.commands = commands
        self.restore()
        commands.ask_for_signals()

    def restore(self):
        """The handlers are there and heard at the start of every run, whatever the last one did to them."""
        signal.signal(signal.SIGIO, self.on_command)
        signal.signal(signal.SIGINT, self.on_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO, signal.SIGINT})

    def on_command(self, _signal, frame):
        if os.getpid() != self.home or self.commands.waiting:
            return
        self.commands.take()
        self.strike(frame)

    def on_signal(self, _signal, frame):
        """Code, or another process in the sandbox, has sent it."""
        if os.getpid() == self.home and self.run:
            self.wanted = self.run
            self.strike(frame)

    def begin(self, run):
        """From within the function that runs the code. What came before the run began ends it here."""
        self.run, self.holds, self.task = run, 0, None
        self.commands.take()
        self.check()

    def strike(self, frame):
        if not self.due() or frame.f_code in self.outside:
            return
        if self.task is not None and self.in_loop(frame):
            if not self.task.done():
                self.task.cancel()
                self.loop.call_soon_threadsafe(lambda: None)
                self.insist()
            return
        self.check()

    def insist(self):
        """The loop may give other code its turn before it hears of the cancel, and not get it back."""
        if self.insisting != self.run:
            self.insisting = self.run
            try:
                _thread.start_new_thread(self.strike_again, (self.run,))
            except RuntimeError:
                pass  # code that has used up all threads is told once

    def strike_again(self, run):
        pause = 0.02
        while self.wanted == self.run == run:
            sleep(pause)
            pause = min(2 * pause, 1)
            signal.pthread_kill(self.main, signal.SIGIO)

    def due(self):
        return self.run != 0 and self.wanted == self.run and not self.holds and not self.commands.taking

    def check(self, traceback=None):
        """Raises what is due, as from the place where the code was."""
        if not self.due():
            return
        self.wanted = 0
        if signal.getsignal(signal.SIGINT) == self.on_signal:
            raise KeyboardInterrupt().with_traceback(traceback) from None
        os.kill(self.home, signal.SIGINT)  # the code has put a handler of its own in the place

    def in_loop(self, frame):
        """Whether the frame is the event loop's own, with no user code that it runs in between."""
        while frame is not None and frame.f_code is not self.driver:
            module = frame.f_globals.get("__name__", "")
            if module not in ("geode_session", "selectors") and not module.startswith("asyncio."):
                return False
            frame = frame.f_back
        return frame is not None

    def hold(self):
        if threading.get_ident() == self.main:
            self.holds += 1

    def release(self):
        if threading.get_ident() == self.main:
            self.holds -= 1
            self.check()
