"""A python interpreter that keeps its state between runs, and speaks with its host through a Wire."""

import os
import sys

from geode_commands import Commands
from geode_interrupts import Interrupts
from geode_session import Session
from geode_wire import Wire


def serve(file, token, form_limit):
    interrupts = Interrupts()
    commands = Commands(file, interrupts.want)
    wire = Wire(interrupts, token)
    session = Session(commands, interrupts, wire, form_limit)
    interrupts.listen(commands)
    # Everything that the kernel itself needs is imported: from here on the working folder comes first.
    sys.path.insert(0, "")
    wire.send({"type": "ready", "version": sys.version.split()[0]})
    while True:
        command = session.next_command()
        if command is None:
            os._exit(0)
        if command["type"] == "run":
            session.run(command["run"], command["code"])
        elif command["type"] == "check":
            wire.send({"type": "checked", "id": command["id"], "state": session.check(command["code"])})
        elif command["type"] == "close":
            try:
                session.end()
            finally:
                wire.send({"type": "closed"})
