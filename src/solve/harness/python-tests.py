"""The process of the tests: the answer is in another one, which finds neither them nor what they expect."""
def main():
    import sys
    here = __import__("os").getcwd()
    # Files of the answer stand for no module of Python.
    sys.path[:] = [each for each in sys.path if each not in ("", ".") and not each.startswith(here)]
    import ast, base64, builtins, collections, ctypes, importlib, importlib.abc, importlib.util, json, os, subprocess, types
    sys.set_int_max_str_digits(0)
    given = json.load(sys.stdin)
    sys.stdin.close()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(0, closefd=False)
    try:
        # No other process may look into this one.
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except (OSError, AttributeError):
        pass
    text, secret = given.pop("tests"), given.pop("secret")
    tree = ast.parse(text, "tests.py")
    for folder in given["packages"]:
        sys.path.append(os.path.join(here, folder))
    for node in ast.walk(tree):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else \
            [node.module] if isinstance(node, ast.ImportFrom) and node.module and node.level == 0 else []
        for name in names:
            try:
                importlib.import_module(name)
            except BaseException:
                pass
    # Nothing that the answer writes there from now on is imported.
    sys.path[:] = [each for each in sys.path if not each.startswith(here)]

    answer_reads, to_answer = os.pipe()
    tests_read, to_tests = os.pipe()
    apart = [given["guest"], "apart"] if os.path.exists(given["guest"]) else []
    subprocess.Popen([*apart, sys.executable, "-u", "-c", given["answer"], str(answer_reads), str(to_tests)], cwd=here,
                     env={**os.environ, **given["env"]}, stdin=subprocess.DEVNULL, pass_fds=(answer_reads, to_tests))
    os.close(answer_reads)
    os.close(to_tests)
    reading = os.fdopen(tests_read, "r", encoding="utf-8", errors="replace")
    writing = os.fdopen(to_answer, "w", encoding="utf-8")

    kept, tables, classes, modules, proxies = {}, [{}], {}, {}, {}
    simple = (type(None), bool, int, float, str)
    copied = (list, dict, set, bytearray)
    # Importing others may do anything, and some of their classes are equal to everything.
    plain = set(("abc array asyncio asyncio.exceptions binascii builtins collections collections.abc configparser contextlib csv "
                 "dataclasses datetime decimal enum fractions functools ipaddress itertools json json.decoder math numbers operator "
                 "pathlib queue random re socket sqlite3 string struct time types typing urllib.error uuid xml.etree.ElementTree "
                 "zipfile zlib").split())
    public = {"decimal": ["Decimal"], "fractions": ["Fraction"], "builtins": ["complex", "range"],
              "datetime": ["date", "datetime", "time", "timedelta"],
              "collections": ["Counter", "OrderedDict", "deque"]}

    def keep(value):
        number = id(value)
        kept[number] = value
        return number

    def pack(v, depth=0):
        kind = type(v)
        if kind in simple:
            return v
        if id(v) in tables[-1]:
            return {"a": tables[-1][id(v)][0]}
        if issubclass(kind, Theirs):
            return {"p": object.__getattribute__(v, "_number")}
        if isinstance(v, types.ModuleType) and v.__name__ in modules:
            return {"p": modules[v.__name__]}
        if isinstance(v, type):
            number = next((number for number, own in classes.items() if own is v), None)
            if number is not None:
                return {"p": number}
            if v.__module__.partition(".")[0] in sys.stdlib_module_names:
                return {"type": [v.__module__, v.__qualname__]}
        if depth > 100 and kind in (list, tuple, set, frozenset, dict):
            # As a list of nodes, because neither side could follow it any deeper.
            nodes, waiting = [], [v]
            for own in waiting:
                def child(each):
                    if type(each) not in (list, tuple, set, frozenset, dict):
                        return pack(each, depth + 1)
                    waiting.append(each)
                    return {"n": len(waiting) - 1}
                if type(own) is dict:
                    nodes.append({"dict": [[child(key), child(each)] for key, each in own.items()]})
                else:
                    nodes.append({type(own).__name__: [child(each) for each in own]})
            return {"flat": nodes}
        if depth > 200:
            return {"h": keep(v)}
        inside = lambda values: [pack(each, depth + 1) for each in values]
        at = {}
        if kind in copied and depth <= 1:
            at = {"at": len(tables[-1])}
            tables[-1][id(v)] = (at["at"], v)
        if kind in (list, tuple, set, frozenset):
            return {kind.__name__: inside(v), **at}
        if kind is dict or kind is collections.defaultdict:
            return {"dict": [inside(pair) for pair in v.items()], **at}
        if kind in (bytes, bytearray):
            return {kind.__name__: base64.b64encode(v).decode(), **at}
        if isinstance(v, types.ModuleType) and v.__name__ in sys.stdlib_module_names:
            return {"module": v.__name__}
        if kind.__name__ in public.get(kind.__module__, ()):
            how = v.__reduce__()
            if kind.__name__ == "OrderedDict":
                return {"made": [kind.__module__, kind.__name__, [pack(list(v.items()), depth + 1)]]}
            if kind.__name__ == "deque":
                return {"made": [kind.__module__, kind.__name__, inside([list(v), v.maxlen])]}
            if kind.__name__ == "complex":
                return {"made": ["builtins", "complex", [v.real, v.imag]]}
            if kind.__module__ != "datetime":
                return {"made": [kind.__module__, kind.__name__, inside(how[1])]}
            fields = {"date": "year month day", "time": "hour minute second microsecond",
                      "datetime": "year month day hour minute second microsecond", "timedelta": "days seconds microseconds"}
            if getattr(v, "tzinfo", None) is None:
                return {"made": ["datetime", kind.__name__, [getattr(v, f) for f in fields[kind.__name__].split()]]}
        return {"h": keep(v)}

    def unpack(m):
        if not isinstance(m, dict):
            if type(m) in simple:
                return m
            raise TypeError("the answer gave something that is no value")
        (kind, v), *_ = m.items()
        if kind == "flat":
            made = [None] * len(v)
            part = lambda each: made[each["n"]] if isinstance(each, dict) and "n" in each and "r" not in each else unpack(each)
            for number in range(len(v) - 1, -1, -1):
                (name, parts), = v[number].items()
                if name == "dict":
                    made[number] = {part(key): part(each) for key, each in parts}
                elif name in ("list", "tuple", "set", "frozenset"):
                    made[number] = getattr(builtins, name)([part(each) for each in parts])
            return made[0]
        if kind in ("list", "tuple", "set", "frozenset"):
            return getattr(builtins, kind)([unpack(each) for each in v])
        if kind == "dict":
            return {unpack(key): unpack(each) for key, each in v}
        if kind in ("bytes", "bytearray"):
            return getattr(builtins, kind)(base64.b64decode(v))
        if kind == "made" and v[1] in public.get(v[0], ()):
            return getattr(importlib.import_module(v[0]), v[1])(*[unpack(each) for each in v[2]])
        if kind == "named":
            return collections.namedtuple(str(v[0]), [str(each) for each in v[1]], rename=True)(*[unpack(each) for each in v[2]])
        if kind == "numpy":
            value = unpack(v[0])
            numpy = sys.modules.get("numpy")
            return value if numpy is None else numpy.array(value, dtype=v[1])[() if not v[2] else ...]
        if kind == "type":
            return type_of(*v)
        if kind == "module" and (v in plain or v in sys.modules) and v.partition(".")[0] in sys.stdlib_module_names:
            return importlib.import_module(v)
        if kind == "a":
            return next(own for number, own in tables[-1].values() if number == v)
        if kind == "h":
            return kept[v]
        if kind == "error":
            return error_class(*v)
        if kind == "class":
            number, name = v
            if number not in classes:
                classes[number] = TheirClass(str(name), (Theirs,), {})
                type.__setattr__(classes[number], "_number", number)
            return classes[number]
        if kind == "await":
            return awaited(v)
        if kind == "r":
            proxy = proxies.setdefault(v, Theirs(v))
            object.__setattr__(proxy, "_base", m.get("v"))
            return proxy
        raise TypeError("the answer gave something that is no value")

    def type_of(module, name):
        own = importlib.import_module(module) if module in plain else sys.modules.get(module)
        found = getattr(own, name, None)
        if not isinstance(found, type):
            # Kinds of functions and the like have no name in their module.
            found = next((own for own in vars(types).values() if isinstance(own, type) and own.__name__ == name), Exception)
        if issubclass(found, BaseException):
            # Those of unittest say that a test is skipped or over.
            return Exception if found.__module__.partition(".")[0] == "unittest" else found
        if module in plain:
            return found
        raise TypeError("the answer gave something that is no value")

    def error_class(number, name, bases):
        if number not in classes:
            own = tuple(base for base in map(unpack, bases) if isinstance(base, type) and issubclass(base, BaseException))
            try:
                classes[number] = type(str(name), own or (Exception,), {})
            except TypeError:
                classes[number] = type(str(name), (Exception,), {})
        return classes[number]

    async def awaited(number):
        return ask("await", number)

    def ask(op, number, *args, **kwargs):
        tables.append({})
        try:
            message = {"ask": op, "of": number, "args": [pack(each) for each in args],
                       "kwargs": {key: pack(each) for key, each in kwargs.items()}}
            told = exchange(message)
            for own, now in zip([own for _, own in tables[-1].values()], told.get("now") or []):
                if now is None:
                    continue
                changed = unpack(now)
                if type(own) is not type(changed):
                    continue
                if type(own) in (list, bytearray):
                    own[:] = changed
                else:
                    own.clear()
                    own.update(changed)
            if "raised" in told:
                raise error_of(told["raised"])
            return unpack(told.get("value"))
        finally:
            tables.pop()

    def exchange(message):
        writing.write(json.dumps(message) + "\n")
        writing.flush()
        while True:
            line = reading.readline()
            if line == "":
                raise SystemExit("The answer ended before the tests were through.")
            told = json.loads(line)
            if "out" in told:
                getattr(sys, "stderr" if told["out"] == "stderr" else "stdout").write(str(told["text"]))
            elif "ask" in told:
                writing.write(json.dumps(served(told)) + "\n")
                writing.flush()
            else:
                return told

    def served(told):
        try:
            args = [unpack(each) for each in told["args"]]
            kwargs = {key: unpack(each) for key, each in told["kwargs"].items()}
            return {"value": pack(serve(told["ask"], told["of"], args, kwargs))}
        except BaseException as error:
            return {"raised": [type(error).__name__, str(error), keep(error)]}

    inner = (types.FunctionType, types.CodeType, types.FrameType, types.TracebackType, types.ModuleType, types.GeneratorType,
             types.CoroutineType, types.AsyncGeneratorType, types.MethodType, BaseException, type)
    dunders = {f"__{name}__" for name in "iter next len getitem setitem contains enter exit str repr lt le gt ge add radd sub mul".split()}

    def serve(op, number, args, kwargs):
        if op == "input":
            return builtins.input(*args)
        if op in ("readline", "read"):
            return getattr(sys.stdin, op)()
        own = kept[number]
        if op == "call" and callable(own):
            return own(*args, **kwargs)
        name = args[0]
        if op == "do" and name in dunders:
            return getattr(type(own), name)(own, *args[1:])
        if op == "get" and not str(name).startswith("_") and (not isinstance(own, inner) or name in ("send", "throw", "close")):
            return getattr(own, name)
        if op == "set" and not str(name).startswith("_") and not isinstance(own, inner):
            return setattr(own, name, args[1])
        raise AttributeError(f"{name} of the tests cannot be had")

    def error_of(raised):
        if "theirs" in raised:
            error = kept[raised["theirs"]]
            return error if isinstance(error, Exception) else RuntimeError("unknown")
        kind = unpack(raised["kind"])
        args = [unpack(each) for each in raised["args"]]
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            kind = Exception
        try:
            error = kind.__new__(kind, *args)
        except Exception:
            error = Exception.__new__(Exception)
        error.args = tuple(args)
        error.__dict__.update(ask("names", raised["of"]))
        error.theirs_trace = str(raised["trace"])
        return error

    def names_of(number):
        """What the tests see of the answer without an import: nothing that Python or unittest would take for its own."""
        hooks = ("load_tests", "setUpModule", "tearDownModule")
        return {name: own for name, own in ask("names", number).items()
                if not (name.startswith("__") or name in hooks or hasattr(builtins, name))}

    class TheirClass(type):
        def __call__(cls, *args, **kwargs):
            return ask("call", cls._number, *args, **kwargs)

        def __instancecheck__(cls, value):
            return isinstance(value, Theirs) and "_number" in vars(cls) and ask("isinstance", cls._number, value) is True

        def __subclasscheck__(cls, other):
            return type.__subclasscheck__(cls, other) or ("_number" in vars(cls) and "_number" in vars(other)
                and ask("issubclass", cls._number, other) is True)

        def __getattr__(cls, name):
            return ask("get", cls._number, name)

        def __setattr__(cls, name, value):
            ask("set", cls._number, name, value)

        def __iter__(cls):
            return iter(ask("__iter__", cls._number))

        def __getitem__(cls, name):
            return ask("__getitem__", cls._number, name)

        def __len__(cls):
            return ask("__len__", cls._number)

    class Theirs:
        def __init__(self, number):
            object.__setattr__(self, "_number", number)
            object.__setattr__(self, "_base", None)

        def __getattribute__(self, name):
            return ask("get", object.__getattribute__(self, "_number"), name)

        def __setattr__(self, name, value):
            ask("set", object.__getattribute__(self, "_number"), name, value)

        def __delattr__(self, name):
            ask("delete", object.__getattribute__(self, "_number"), name)

        def __call__(self, *args, **kwargs):
            return ask("call", object.__getattribute__(self, "_number"), *args, **kwargs)

        def __dir__(self):
            return ask("dir", object.__getattribute__(self, "_number"))

        def __eq__(self, other):
            number, base = (object.__getattribute__(self, each) for each in ("_number", "_base"))
            if isinstance(other, Theirs):
                return ask("__eq__", number, other)
            # What is expected is not sent to be compared there.
            return base is not None and unpack(base) == other

        def __ne__(self, other):
            return not self == other

        def __hash__(self):
            base = object.__getattribute__(self, "_base")
            return ask("__hash__", object.__getattribute__(self, "_number")) if base is None else hash(unpack(base))

        async def __anext__(self):
            return await ask("__anext__", object.__getattribute__(self, "_number"))

        async def __aenter__(self):
            return await ask("__aenter__", object.__getattribute__(self, "_number"))

        async def __aexit__(self, *_):
            return await ask("__aexit__", object.__getattribute__(self, "_number"))

        def __exit__(self, *_):
            return ask("__exit__", object.__getattribute__(self, "_number"))

        def __await__(self):
            return awaited(object.__getattribute__(self, "_number")).__await__()

    def compared(name):
        def compare(self, other):
            number, base = (object.__getattribute__(self, each) for each in ("_number", "_base"))
            if isinstance(other, Theirs):
                return ask(name, number, other)
            return NotImplemented if base is None else getattr(unpack(base), name)(other)
        return compare

    def sent(name):
        return lambda self, *args: ask(name, object.__getattribute__(self, "_number"), *args)

    for each in "lt le gt ge".split():
        setattr(Theirs, f"__{each}__", compared(f"__{each}__"))
    for each in ("add sub mul truediv floordiv mod pow matmul and or xor radd rsub rmul rtruediv rfloordiv rmod rpow rmatmul rand ror "
                 "rxor lshift rshift getitem setitem delitem contains neg pos invert iter next len bool str repr int float index "
                 "abs reversed round format divmod aiter enter").split():
        setattr(Theirs, f"__{each}__", sent(f"__{each}__"))

    class TheirModule(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return ask("get", modules[vars(self)["__name__"]], name)

        def __setattr__(self, name, value):
            if name.startswith("__"):
                return types.ModuleType.__setattr__(self, name, value)
            ask("set", modules[vars(self)["__name__"]], name, value)

        def __delattr__(self, name):
            ask("delete", modules[vars(self)["__name__"]], name)

    class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, name, path=None, target=None):
            place = os.path.join(here, *name.split("."))
            if os.path.isfile(place + ".py") or os.path.isfile(os.path.join(place, "__init__.py")):
                return importlib.util.spec_from_loader(name, self)

        def create_module(self, spec):
            modules[spec.name] = ask("import", 0, spec.name)["number"]
            module = TheirModule(spec.name)
            module.__file__ = spec.name + ".py"
            module.__path__ = []
            return module

        def exec_module(self, module):
            pass

    def call(test, is_method=False):
        if test.__code__.co_argcount - is_method > len(test.__defaults__ or ()):
            raise AssertionError(f"{test.__name__} takes arguments, and nothing calls it.")
        given = test()
        if isinstance(given, types.CoroutineType):
            importlib.import_module("asyncio").run(given)

    def run_uncalled(names, ran):
        """Does the part of a test runner: calls functions and classes of tests that the tests do not call."""
        if not any(isinstance(node, (ast.Assert, ast.Call, ast.Raise)) for node in ast.walk(tree)):
            raise AssertionError("The tests check nothing.")
        loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        unittest = sys.modules.get("unittest")
        for name, own in list(names.items()):
            if isinstance(own, types.FunctionType) and name not in loaded:
                if name.startswith("test") or (name.startswith("check") and own.__code__.co_argcount == 0):
                    call(own)
            if not isinstance(own, type) or isinstance(own, TheirClass) or own.__module__ != "__main__":
                continue
            if unittest and issubclass(own, unittest.TestCase):
                suite = unittest.defaultTestLoader.loadTestsFromTestCase(own)
                if own not in ran and not unittest.TextTestRunner().run(suite).wasSuccessful():
                    raise SystemExit(1)
            elif name.startswith("Test") and name not in loaded:
                for method in [each for each in dir(own) if each.startswith("test")]:
                    one = own()
                    for step in ("setup_method", method, "teardown_method"):
                        if hasattr(one, step):
                            call(getattr(one, step), is_method=True)

    def count_cases():
        """The classes of unittest whose cases were run."""
        ran, unittest = set(), sys.modules.get("unittest")
        if unittest is not None:
            run = unittest.TestCase.run
            def counted(self, result=None):
                ran.add(type(self))
                return run(self, result)
            unittest.TestCase.run = counted
        return ran

    sys.meta_path.append(Finder())
    try:
        ran = count_cases()
        importlib.import_module("solution")
        scope = types.ModuleType("__main__")
        vars(scope).update(names_of(modules["solution"]), __name__="__main__")
        # unittest looks for its cases there.
        sys.modules["__main__"] = scope
        try:
            exec(compile(tree, "tests.py", "exec"), vars(scope))
        except SystemExit as end:
            # As unittest.main ends.
            if end.code or hasattr(end, "theirs_trace"):
                raise
        run_uncalled(vars(scope), ran)
    except BaseException as error:
        trace = getattr(error, "theirs_trace", None)
        if trace is not None:
            sys.stderr.write(trace)
            sys.exit(1)
        raise
    sys.__stdout__.flush()
    os.write(1, ("\n" + secret + "\n").encode())
main()
