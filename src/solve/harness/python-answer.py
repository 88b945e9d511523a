"""The process of the answer: loads it and does what the process of the tests asks, over two pipes."""
import sys

sys.path[:] = [each for each in sys.path if each != ""]
import asyncio, base64, builtins, collections, datetime, decimal, fractions, importlib, io, json, operator, os, threading, traceback, types

PLAIN = (type(None), bool, int, float, str)
MADE = {
    decimal.Decimal: lambda v: [str(v)],
    fractions.Fraction: lambda v: [v.numerator, v.denominator],
    complex: lambda v: [v.real, v.imag],
    range: lambda v: [v.start, v.stop, v.step],
    datetime.date: lambda v: [v.year, v.month, v.day],
    datetime.datetime: lambda v: [v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond],
    datetime.time: lambda v: [v.hour, v.minute, v.second, v.microsecond],
    datetime.timedelta: lambda v: [v.days, v.seconds, v.microseconds],
    collections.Counter: lambda v: [dict(v)],
    collections.OrderedDict: lambda v: [list(v.items())],
    collections.deque: lambda v: [list(v), v.maxlen],
}
# Classes from elsewhere are called here.
PLACES = set(("abc array builtins collections collections.abc contextlib dataclasses datetime decimal enum fractions functools "
              "ipaddress itertools numbers operator pathlib queue random re string time types typing uuid").split())
BASES = (str, int, float, list, tuple, dict, set, frozenset, bytes)


class Wire:
    """One message a line. A request gets its answer before anything else is asked on the same side."""

    def __init__(self, reading, writing):
        self.reading = os.fdopen(reading, "r", encoding="utf-8")
        self.writing = os.fdopen(writing, "w", encoding="utf-8")
        self.lock = threading.RLock()

    def send(self, message):
        line = json.dumps(message)
        with self.lock:
            self.writing.write(line + "\n")
            self.writing.flush()

    def receive(self):
        line = self.reading.readline()
        if line == "":
            os._exit(0)
        return json.loads(line)


class Theirs:
    """Something of the tests. It can be called and asked for what has a public name, and no more."""

    def __init__(self, number):
        object.__setattr__(self, "_number", number)

    def __call__(self, *args, **kwargs):
        return side.ask("call", self._number, args, kwargs)

    def __getattr__(self, name):
        return side.ask("get", self._number, (name,), {})

    def __setattr__(self, name, value):
        side.ask("set", self._number, (name, value), {})


def forwarding(name):
    return lambda self, *args: side.ask("do", self._number, (name, *args), {})


for each in ("iter next len getitem setitem contains enter exit str repr lt le gt ge add radd sub mul").split():
    setattr(Theirs, f"__{each}__", forwarding(f"__{each}__"))


class Side:
    def __init__(self, wire):
        self.wire = wire
        self.kept = {}
        self.numbers = {}
        self.loop = None
        self.given = []
        self.own = {}

    def keep(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = len(self.kept) + 1
            self.kept[number] = value
            self.numbers[id(value)] = number
        return number

    def pack(self, v, depth=0):
        kind = type(v)
        if kind in PLAIN:
            return v
        if id(v) in self.own:
            return {"a": self.own[id(v)]}
        if kind is Theirs:
            return {"h": v._number}
        if depth > 100 and kind in (list, tuple, set, frozenset, dict):
            # As a list of nodes, because neither side could follow it any deeper.
            nodes, waiting = [], [v]
            for own in waiting:
                def child(each):
                    if type(each) not in (list, tuple, set, frozenset, dict):
                        return self.pack(each, depth + 1)
                    waiting.append(each)
                    return {"n": len(waiting) - 1}
                if type(own) is dict:
                    nodes.append({"dict": [[child(key), child(each)] for key, each in own.items()]})
                else:
                    nodes.append({type(own).__name__: [child(each) for each in own]})
            return {"flat": nodes}
        if depth > 200:
            return {"r": self.keep(v), "n": kind.__name__}
        inside = lambda values: [self.pack(each, depth + 1) for each in values]
        if kind in (list, tuple, set, frozenset):
            return {kind.__name__: inside(v)}
        if kind is dict or kind is collections.defaultdict:
            return {"dict": [inside(pair) for pair in v.items()]}
        if kind in (bytes, bytearray):
            return {kind.__name__: base64.b64encode(v).decode()}
        if kind in MADE and getattr(v, "tzinfo", None) is None:
            return {"made": [kind.__module__, kind.__name__, inside(MADE[kind](v))]}
        if isinstance(v, tuple) and hasattr(kind, "_fields"):
            return {"named": [kind.__name__, list(kind._fields), inside(tuple(v))]}
        if kind.__module__ == "numpy" and hasattr(v, "tolist") and str(getattr(v, "dtype", "O")) != "object":
            return {"numpy": [self.pack(v.tolist()), str(v.dtype), hasattr(v, "__len__")]}
        if isinstance(v, type):
            if v.__module__.partition(".")[0] in sys.stdlib_module_names and (v.__module__ in PLACES or issubclass(v, BaseException)):
                return {"type": [v.__module__, v.__qualname__]}
            if issubclass(v, BaseException):
                return {"error": [self.keep(v), v.__name__, [self.pack(base) for base in v.__bases__]]}
            return {"class": [self.keep(v), v.__name__]}
        if isinstance(v, types.ModuleType) and v.__name__.partition(".")[0] in sys.stdlib_module_names:
            return {"module": v.__name__}
        if isinstance(v, types.CoroutineType):
            return {"await": self.keep(v)}
        told = {"r": self.keep(v), "n": kind.__name__}
        base = next((base for base in BASES if isinstance(v, base)), None)
        if base is not None:
            told["v"] = self.pack(base(v), depth + 1)
        return told

    def unpack(self, m):
        if not isinstance(m, dict):
            return m
        (kind, v), *_ = m.items()
        if kind == "flat":
            made = [None] * len(v)
            part = lambda each: made[each["n"]] if isinstance(each, dict) and "n" in each and "r" not in each else self.unpack(each)
            for number in range(len(v) - 1, -1, -1):
                (name, parts), = v[number].items()
                if name == "dict":
                    made[number] = {part(key): part(each) for key, each in parts}
                elif name in ("list", "tuple", "set", "frozenset"):
                    made[number] = getattr(builtins, name)([part(each) for each in parts])
            return made[0]
        if kind == "h":
            return Theirs(v)
        if kind == "p":
            return self.kept[v]
        if kind == "a":
            return self.given[v][0]
        made = self.fill(kind, v, m)
        if "at" in m:
            while len(self.given) <= m["at"]:
                self.given.append((None, None))
            self.given[m["at"]] = (made, None)
        return made

    def fill(self, kind, v, m):
        if kind in ("list", "tuple", "set", "frozenset"):
            return getattr(builtins, kind)(self.unpack(each) for each in v)
        if kind == "dict":
            return {self.unpack(key): self.unpack(each) for key, each in v}
        if kind in ("bytes", "bytearray"):
            return getattr(builtins, kind)(base64.b64decode(v))
        if kind == "type":
            return operator.attrgetter(v[1])(importlib.import_module(v[0]))
        if kind == "module":
            return importlib.import_module(v)
        if kind == "made":
            module, name, args = v
            return getattr(importlib.import_module(module), name)(*[self.unpack(each) for each in args])
        raise TypeError(kind)

    def ask(self, op, number, args, kwargs):
        self.wire.send({"ask": op, "of": number, "args": [self.pack(each) for each in args],
                        "kwargs": {key: self.pack(each) for key, each in kwargs.items()}})
        return self.until_answer()

    def until_answer(self):
        while True:
            message = self.wire.receive()
            if "ask" in message:
                self.serve(message)
            elif "raised" in message:
                name, text, number = message["raised"]
                kind = getattr(builtins, name, None)
                error = (kind if isinstance(kind, type) and issubclass(kind, BaseException) else RuntimeError)(text)
                error.theirs = number
                raise error
            else:
                return self.unpack(message["value"])

    def serve(self, message):
        before, self.given, self.own = (self.given, self.own), [], {}
        try:
            args = [self.unpack(each) for each in message["args"]]
            kwargs = {key: self.unpack(each) for key, each in message["kwargs"].items()}
            self.given = [(own, json.dumps(self.pack(own))) for own, _ in self.given]
            self.own = {id(own): number for number, (own, _) in enumerate(self.given) if own is not None}
            told = {}
            try:
                told["value"] = self.pack(self.do(message["ask"], message["of"], args, kwargs))
            except BaseException as error:
                told["raised"] = self.raised(error)
            self.own = {}
            now = [(json.dumps(self.pack(own)), packed) for own, packed in self.given]
            told["now"] = [None if same == packed else json.loads(same) for same, packed in now]
        finally:
            self.given, self.own = before
        self.wire.send(told)

    def raised(self, error):
        if hasattr(error, "theirs"):
            return {"theirs": error.theirs}
        trace = "".join(traceback.format_exception(error)[-8:])
        try:
            args = [self.pack(each) for each in error.args]
        except Exception:
            args = [str(error)]
        return {"kind": self.pack(type(error)), "args": args, "trace": trace, "of": self.keep(error)}

    def do(self, op, number, args, kwargs):
        own = self.kept[number] if number else None
        if op == "call":
            return own(*args, **kwargs)
        if op == "get":
            return getattr(own, args[0])
        if op == "set":
            return setattr(own, args[0], args[1])
        if op == "delete":
            return delattr(own, args[0])
        if op == "dir":
            return dir(own)
        if op == "isinstance":
            return isinstance(args[0], own)
        if op == "issubclass":
            return issubclass(args[0], own)
        if op == "await":
            self.loop = self.loop or asyncio.new_event_loop()
            return self.loop.run_until_complete(own)
        if op == "import":
            return self.module(args[0])
        if op == "names":
            return {name: each for name, each in vars(own).items() if not name.startswith("__")}
        return DOING[op](own, *args)

    def module(self, name):
        module = importlib.import_module(name)
        self.keep(module)
        return {"number": self.keep(module), "name": name}


async def anext_of(own):
    return await own.__anext__()


async def aenter_of(own):
    return await own.__aenter__()


async def aexit_of(own, *args):
    return await own.__aexit__(None, None, None)


DOING = {f"__{name}__": getattr(operator, name) for name in
         "add sub mul truediv floordiv mod pow matmul lshift rshift lt le gt ge eq ne getitem setitem delitem "
         "contains neg pos invert and_ or_ xor".replace("and_ or_", "").split()}
DOING |= {"__and__": operator.and_, "__or__": operator.or_, "__iter__": iter, "__next__": next, "__len__": len,
          "__bool__": bool, "__str__": str, "__repr__": repr, "__hash__": hash, "__int__": int, "__float__": float,
          "__index__": operator.index, "__abs__": abs, "__reversed__": reversed, "__round__": round,
          "__format__": format, "__divmod__": divmod, "__anext__": anext_of, "__aiter__": lambda own: own.__aiter__(),
          "__aenter__": aenter_of, "__aexit__": aexit_of, "__enter__": lambda own: own.__enter__(),
          "__exit__": lambda own, *args: own.__exit__(None, None, None)}
DOING |= {f"__r{name}__": (lambda doing: lambda own, other: doing(other, own))(DOING[f"__{name}__"])
          for name in "add sub mul truediv floordiv mod pow matmul and or xor".split()}


class Output(io.TextIOBase):
    """What the answer prints goes where the tests print, so that they can look at it."""

    def __init__(self, name, number):
        self.name, self.number = name, number

    def fileno(self):
        return self.number

    def writable(self):
        return True

    def write(self, text):
        side.wire.send({"out": self.name, "text": text})
        return len(text)

    @property
    def buffer(self):
        return os.fdopen(os.dup(self.number), "wb", 0)


class Input(io.TextIOBase):
    def readable(self):
        return True

    def readline(self, size=-1):
        return side.ask("readline", 0, (), {})

    def read(self, size=-1):
        return side.ask("read", 0, (), {})

    def __next__(self):
        line = self.readline()
        if line == "":
            raise StopIteration
        return line


side = Side(Wire(int(sys.argv[1]), int(sys.argv[2])))
sys.set_int_max_str_digits(0)
sys.path.insert(0, os.getcwd())
sys.modules["__main__"].__dict__.pop("__file__", None)
sys.argv = ["solution.py"]
sys.stdout, sys.stderr, sys.stdin = Output("stdout", 1), Output("stderr", 2), Input()
builtins.input = lambda prompt="": side.ask("input", 0, (prompt,), {})
while True:
    side.serve(side.wire.receive())
