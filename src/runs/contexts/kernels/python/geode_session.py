"""The user's side of the kernel: a `__main__` that lives on, and code that runs in it."""

import ast
import builtins
import codeop
import inspect
import linecache
import os
import select
import sys
import traceback
import types

import geode_lines
import geode_plots
from geode_rich import described_as, describe, put, shortened, within

TRACEBACK_LIMIT = 100_000


class Session:
    def __init__(self, commands, interrupts, wire, form_limit):
        self.commands = commands
        self.interrupts = interrupts
        interrupts.outside = (Session.run.__code__, interrupts.end.__code__, interrupts.on_dropped.__code__)
        interrupts.driver = Session.drive.__code__
        self.wire = wire
        self.form_limit = form_limit
        self.run_number = 0
        self.loop = None
        self.coming = None
        self.main = types.ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self.main
        builtins.display = self.make_display()
        geode_plots.watch(self.show_png)
        checker = codeop.CommandCompiler()
        checker.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self.checker = checker

    def run(self, number, source):
        self.run_number = number
        name = f"<run-{number}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        self.wire.restore_streams()
        self.interrupts.restore()
        try:
            try:
                self.execute(number, source, name)
            finally:
                self.interrupts.end()
                if os.getpid() != self.wire.home:
                    self.end_forked_copy()
        except BaseException as error:
            self.report(error)
        self.wire.end_run(number)

    def execute(self, number, source, name):
        self.interrupts.begin(number)
        tree = parsed(source, name)
        last = tree.body[-1] if tree.body else None
        shows = isinstance(last, ast.Expr) and not source.rstrip().endswith(";")
        if shows:
            tree.body.pop()
        self.evaluate(tree, name, "exec")
        if shows:
            value = self.evaluate(ast.Expression(last.value), name, "eval")
            if value is not None:
                self.main.__dict__["_"] = value
                self.show("value", value)
        geode_plots.show_open_figures(self.show_png)

    def evaluate(self, tree, name, mode):
        code = compile(tree, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        value = eval(code, self.main.__dict__)
        return self.drive(value) if code.co_flags & inspect.CO_COROUTINE else value

    def drive(self, coroutine):
        """Runs what awaits on the context's one event loop, which is made when it is first needed."""
        self.interrupts.hold()
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = loop_of_code(asyncio)
            self.loop.set_exception_handler(tell_failure)
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        self.interrupts.current_task = asyncio.current_task
        self.interrupts.loop, self.interrupts.task = self.loop, task
        try:
            self.interrupts.release()
            self.go_on_until(task)
            value = task.result()
        except asyncio.CancelledError as cancelled:
            self.interrupts.task = None
            self.interrupts.check(cancelled.__traceback__)
            raise
        except KeyboardInterrupt:
            if not task.done():
                task.cancel()
                self.interrupts.press()
                self.go_on_until(self.loop.create_task(asyncio.wait({task}, timeout=1)))
            if task.done() and not task.cancelled():
                task.exception()
            raise
        finally:
            self.interrupts.task = self.interrupts.deadline = None
        self.interrupts.check()
        return value

    def go_on_until(self, task):
        """The loop may stop before: an interrupt leaves the stop of an earlier task behind, or code asks for it."""
        task.add_done_callback(lambda _task: self.loop.stop())
        while not task.done():
            self.loop.run_forever()

    def next_command(self):
        """Waits for the host; tasks that earlier runs left on the event loop go on meanwhile."""
        try:
            return self.commands.next(self.tasks_go_on)
        finally:
            self.interrupts.deadline = None

    def tasks_go_on(self, descriptor):
        """Returns when there is something to read."""
        if self.loop is None or self.loop.is_closed():
            select.select([descriptor], [], [])
            return
        try:
            self.drive(self.something_comes(descriptor))
        except (SystemExit, KeyboardInterrupt) as error:  # of a task: it ends the task, not the kernel
            sys.stderr.writelines(user_lines(error))

    async def something_comes(self, descriptor):
        came = self.coming = self.loop.create_future()
        self.loop.add_reader(descriptor, lambda: came.done() or came.set_result(None))
        try:
            await came
        finally:
            if self.coming is came:  # not one that was interrupted, while the next waits already
                self.loop.remove_reader(descriptor)

    def end_forked_copy(self):
        """A child of `os.fork()` that ran to the end of the code must not go on as a second kernel."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, SystemExit):
            sys.stderr.writelines(user_lines(error))
        self.wire.flush()
        os._exit(0 if error is None else 1)

    def report(self, error):
        try:
            message = str(error)
            lines = user_lines(error)
        except Exception as unspeakable:
            message = f"its text cannot be made: {type(unspeakable).__name__}"
            lines = [f"{type(error).__name__}: {message}\n"]
        self.wire.send(
            {
                "type": "error",
                "run": self.run_number,
                "name": type(error).__name__,
                "message": shortened(message, TRACEBACK_LIMIT),
                "traceback": shortened("".join(lines), TRACEBACK_LIMIT),
                "interrupted": isinstance(error, KeyboardInterrupt),
            }
        )

    def check(self, source):
        try:
            return "incomplete" if self.checker(source, "<check>", "single") is None else "complete"
        except (SyntaxError, ValueError, OverflowError):
            python = geode_lines.translated(source)
            return "invalid" if python is None else self.check(python)

    def show(self, kind, value):
        png = geode_plots.figure_png(value)
        if png is None:
            self.send_rich(kind, describe(value, self.form_limit))
        else:
            self.show_png(png, repr(value), kind)

    def show_png(self, png, text, kind="display"):
        forms = {"text": text}
        put(forms, "png", png)
        self.send_rich(kind, within(forms, self.form_limit))

    def send_rich(self, kind, rich):
        if os.getpid() != self.wire.home:
            print(rich["text"])
        else:
            self.wire.send({"type": kind, "run": self.run_number, "rich": rich})

    def make_display(self):
        def display(*values):
            """Shows values in the richest form that they offer; `display.html(text)` and its like show a form."""
            for value in values:
                self.show("display", value)

        for form in ("html", "markdown", "svg", "latex", "png", "jpeg", "json", "table"):

            def display_form(content, form=form):
                self.send_rich("display", described_as(form, content, self.form_limit))

            setattr(display, form, display_form)
        return display

    def end(self):
        """What an interpreter does as it ends: exit handlers, and files that are still open are flushed."""
        import atexit
        import gc

        try:
            atexit._run_exitfuncs()
        finally:
            self.main.__dict__.clear()
            gc.collect()


def parsed(source, name):
    try:
        return ast.parse(source, name)
    except SyntaxError:
        python = geode_lines.translated(source)
        try:
            if python is not None:
                return ast.parse(python, name)
        except SyntaxError:
            pass  # the error in the code as it was written says more
        raise


def loop_of_code(asyncio):
    """Tasks that the code made before its first `await` are on a loop that asyncio made for them."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loop = asyncio.get_event_loop()
        except RuntimeError:
            return asyncio.new_event_loop()
    return asyncio.new_event_loop() if loop.is_closed() else loop


def tell_failure(loop, context):
    """A task that nobody awaits has failed. When an interrupt ended it, the run has told so already."""
    if not isinstance(context.get("exception"), KeyboardInterrupt):
        loop.default_exception_handler(context)


def user_lines(error):
    """The traceback as python prints it, from the first line of user code on and without the kernel's frames."""
    step = error.__traceback__
    while step is not None and not step.tb_frame.f_code.co_filename.startswith("<run-"):
        step = step.tb_next
    shown = traceback.TracebackException(type(error), error, step)
    own = [frame for frame in shown.stack if not frame.filename.startswith("<geode_")]
    if len(own) < len(shown.stack):
        shown.stack[:] = own
    return list(shown.format())
