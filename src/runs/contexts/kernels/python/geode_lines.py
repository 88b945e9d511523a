"""Lines of notebooks that Python does not have: `!command`, `name = !command`, `%pip install …`, `%%bash`.

Code with such lines is no Python, so only code that cannot be parsed is looked at. Each line is replaced by a call on
the same line, so that tracebacks keep their numbers.
"""

import os
import re
import sys

SHELL_LINE = re.compile(r"(?P<indent>\s*)(?:(?P<name>[A-Za-z_]\w*)\s*=\s*)?(?P<mark>!{1,2}|%)(?P<rest>.*)", re.S)
CELL = re.compile(r"\s*%%(\w+)[^\n]*\n(.*)", re.S)
# Settings of notebooks that mean nothing here.
IGNORED = ("matplotlib", "load_ext", "reload_ext", "autoreload", "config", "precision", "xmode")
CALL = "__import__('sys').modules['geode_lines'].%s"


def translated(source):
    """Python that does the same, or None if no line is of this kind."""
    cell = CELL.fullmatch(source)
    if cell is not None:
        name, body = cell.groups()
        if name in ("bash", "sh", "script"):
            return CALL % f"script({body!r})"
        return CALL % f"unknown({'%%' + name!r})"
    lines = source.split("\n")
    found, at = False, 0
    while at < len(lines):
        match = SHELL_LINE.fullmatch(lines[at])
        if match is None:
            at += 1
            continue
        found, first, rest = True, at, match["rest"]
        while rest.endswith("\\") and at + 1 < len(lines):
            at += 1
            rest = rest[:-1] + lines[at]
            lines[at] = ""
        lines[first] = match["indent"] + call_of(match["mark"], match["name"], rest)
        at += 1
    return "\n".join(lines) if found else None


def call_of(mark, name, rest):
    if mark != "%":
        return f"{name} = " + CALL % f"lines({rest!r})" if name else CALL % f"shell({rest!r})"
    word, _, given = rest.strip().partition(" ")
    target = f"{name} = " if name else ""
    return target + CALL % f"magic({word!r}, {given.strip()!r})"


def magic(name, given):
    if name in IGNORED:
        return None
    if name in ("pip", "conda", "mamba", "uv"):
        return shell(f"{sys.executable} -m pip {given}" if name == "pip" else f"{name} {given}")
    if name == "pwd":
        return os.getcwd()
    if name == "cd":
        os.chdir(os.path.expanduser(given or "~"))
        return None
    if name in ("env", "set_env"):
        return variables(given)
    if name in ("ls", "cat", "mkdir", "rm", "cp", "mv"):
        return shell(f"{name} {given}")
    return unknown("%" + name)


def variables(given):
    if not given:
        return dict(os.environ)
    name, equals, value = given.partition("=")
    if not equals:
        name, _, value = given.partition(" ")
        if not value:
            return os.environ.get(name)
    os.environ[name.strip()] = value.strip()
    return None


def unknown(name):
    raise NameError(f"the notebook command {name} does not exist here; use !COMMAND for programs of the shell")


def shell(command):
    """Runs a line, with its output as it comes. Its exit code is `_exit_code`."""
    status = run(filled(command), None)[0]
    sys.modules["__main__"].__dict__["_exit_code"] = status


def lines(command):
    status, output = run(filled(command), -1)
    sys.modules["__main__"].__dict__["_exit_code"] = status
    return output.decode(errors="replace").splitlines()


def filled(command):
    """`{name}` is the value of that variable; braces of the shell stay."""
    known = sys.modules["__main__"].__dict__
    value = lambda match: str(known[match[1]]) if match[1] in known else match[0]
    return re.sub(r"\{([A-Za-z_]\w*)\}", value, command)


def run(command, stdout, shell_program="/bin/sh"):
    import signal
    import subprocess

    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = subprocess.Popen(
        [shell_program, "-c", command], stdin=subprocess.DEVNULL, stdout=stdout, start_new_session=True
    )
    try:
        output = child.communicate()[0]
    except BaseException:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        raise
    return child.returncode, output


STATE = None
LAST = {}


def script(source):
    """Runs a script of bash. The next one continues with its folder, variables and functions."""
    global STATE, LAST
    import shutil
    import tempfile

    if STATE is None:
        STATE = tempfile.mkstemp(prefix="geode-bash-")[1]
    program = shutil.which("bash") or "/bin/sh"
    # Variables that changed outside the shell replace what it had.
    now = {name: value for name, value in os.environ.items() if re.fullmatch(r"[A-Za-z_]\w*", name)}
    news = [f"export {name}='{quoted(value)}'" for name, value in now.items() if LAST.get(name) != value]
    news += [f"unset {name}" for name in LAST if name not in now]
    LAST = now
    keep = f"{{ declare -p; declare -f; printf 'cd %q\\n' \"$PWD\"; }} > {STATE} 2>/dev/null"
    begin = [f". {STATE} 2>/dev/null", *news, f"trap '{quoted(keep)}' EXIT"]
    status = run("\n".join([*begin, source]), None, program)[0]
    sys.modules["__main__"].__dict__["_exit_code"] = status


def quoted(text):
    return text.replace("'", "'\\''")
