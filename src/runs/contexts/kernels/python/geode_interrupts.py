"""An interrupt is meant for one run: it ends that run, or nothing.

It comes at any moment. KeyboardInterrupt is raised in user code only: not in the kernel's, where a message may
be half-way, and not in the event loop's, which would be left in disorder. There it waits, or cancels what is
awaited. All of this happens in the main thread, where python runs signal handlers.

Python drops what a finalizer or another callback of its own raises. An interrupt that was dropped so is wanted again;
one that user code has caught is not. A thread repeats the signal until the interrupt has got through.
"""

import _thread
import contextvars
import os
import select
import signal
import sys
import threading
from time import monotonic, sleep

PATIENCE = 1  # seconds that code may hold the event loop while the kernel waits for its turn
FIRST_PAUSE = 0.02  # seconds between two signals
LOOP = ("geode_commands", "geode_interrupts", "geode_session", "selectors")  # modules that belong to the loop
SPARED = 25  # signals that a callback is given to end by itself, if it would drop the interrupt


class Interrupts:
    def __init__(self):
        self.home = os.getpid()
        self.main = threading.get_ident()
        self.commands = None
        self.run = 0  # the run whose code is under way
        self.wanted = 0  # the run that is to end
        self.holds = 0  # parts of the kernel that must not be left half-way
        self.loop = None
        self.task = None  # what the run awaits on the loop
        self.current_task = None  # asyncio's function: asyncio is imported when it is needed
        self.made_by = contextvars.ContextVar("geode_run", default=0)  # the run whose code made a task or callback
        self.struck = set()  # the runs that an interrupt has hit
        self.deadline = None  # from this time on, code that holds the loop is ended
        self.repeating = False  # a thread repeats the signal
        self.droppers = set()  # the code of callbacks that an interrupt was raised in, and lost
        self.spared = 0
        self.hook = sys.unraisablehook  # that of the code, while the kernel's is in its place
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
        if os.getpid() != self.home:
            return
        if not self.commands.waiting:
            self.commands.take()
        elif self.struck and self.loop is not None and self.deadline is None:
            if select.select([self.commands.descriptor], [], [], 0)[0]:
                self.press()
        self.strike(frame)

    def on_signal(self, _signal, frame):
        """Code, or another process in the sandbox, has sent it."""
        if os.getpid() == self.home and self.run:
            self.wanted = self.run
            self.strike(frame)

    def begin(self, run):
        """From within the function that runs the code. What came before the run began ends it here."""
        self.run, self.holds, self.task = run, 0, None
        self.droppers.clear()
        self.made_by.set(run)
        self.commands.take()
        self.check()

    def end(self):
        """The code of the run is over."""
        self.run = 0
        if sys.unraisablehook == self.on_dropped:
            sys.unraisablehook = self.hook

    def strike(self, frame):
        if self.overdue(frame):
            self.press()
            raise KeyboardInterrupt
        if not self.due() or frame.f_code in self.outside:
            return
        if self.task is not None and self.in_loop(frame):
            if not self.task.done():
                self.task.cancel()
                self.loop.call_soon_threadsafe(lambda: None)
                self.repeat()
            return
        if not self.would_drop(frame):
            self.check()

    def would_drop(self, frame):
        """Whether the frame is within a callback that has dropped an interrupt before, and may end by itself."""
        if not self.droppers:
            return False
        while frame is not None and frame.f_code not in self.droppers:
            frame = frame.f_back
        self.spared = 0 if frame is None else (self.spared + 1) % SPARED
        return self.spared != 0

    def press(self):
        """The kernel needs the loop, to end an interrupted run or to read a command."""
        self.deadline = monotonic() + PATIENCE
        self.repeat()

    def overdue(self, frame):
        """Whether the code holds the loop for too long. Between runs only what an interrupted run has left is ended."""
        if self.deadline is None or monotonic() < self.deadline or self.task is None:
            return False
        if self.holds or self.commands.taking:
            return False
        if not self.run and self.made_by.get() not in self.struck:
            return False
        return not self.in_loop(frame) and self.current_task(self.loop) is not self.task

    def repeat(self):
        """The loop may give other code its turn before it hears of a cancel, and not get it back."""
        if not self.repeating:
            self.hold()
            self.repeating = True
            try:
                _thread.start_new_thread(self.signal_again, ())
            except RuntimeError:
                self.repeating = False  # code that has used up all threads is told once
            self.holds -= 1

    def signal_again(self):
        while True:
            pause = FIRST_PAUSE
            while self.unheard():
                sleep(pause)
                pause = FIRST_PAUSE if self.droppers else min(2 * pause, 0.5)
                signal.pthread_kill(self.main, signal.SIGIO)
            self.repeating = False
            if not self.unheard():
                return
            self.repeating = True

    def unheard(self):
        return self.deadline is not None or self.wanted == self.run != 0

    def on_dropped(self, dropped):
        """In the place of sys.unraisablehook: python tells it what it drops."""
        self.hold()
        try:
            is_interrupt = issubclass(dropped.exc_type, KeyboardInterrupt)
            if is_interrupt and self.run and threading.get_ident() == self.main:
                self.wanted = self.run
                if dropped.exc_traceback is not None:
                    self.droppers.add(dropped.exc_traceback.tb_frame.f_code)
            else:
                self.hook(dropped)
        finally:
            if threading.get_ident() == self.main:
                if self.unheard():
                    self.repeat()
                self.holds -= 1

    def due(self):
        return self.run != 0 and self.wanted == self.run and not self.holds and not self.commands.taking

    def check(self, traceback=None):
        """Raises what is due, as from the place where the code was."""
        if not self.due():
            return
        self.wanted = 0
        self.struck.add(self.run)
        if sys.unraisablehook != self.on_dropped:
            self.hook, sys.unraisablehook = sys.unraisablehook, self.on_dropped
        if signal.getsignal(signal.SIGINT) == self.on_signal:
            raise KeyboardInterrupt().with_traceback(traceback) from None
        os.kill(self.home, signal.SIGINT)  # the code has put a handler of its own in the place

    def in_loop(self, frame):
        """Whether the frame is the event loop's own, with no user code that it runs in between."""
        while frame is not None and frame.f_code is not self.driver:
            module = frame.f_globals.get("__name__", "")
            if module not in LOOP and not module.startswith("asyncio."):
                return False
            frame = frame.f_back
        return frame is not None

    def hold(self):
        if threading.get_ident() == self.main:
            self.holds += 1

    def release(self):
        if threading.get_ident() == self.main:
            self.holds -= 1
            self.strike(sys._getframe(1))
