"""A program for E2B, as it stands: where its sandboxes are, the environment says. See docs/doors/e2b.md."""

from e2b_code_interpreter import Sandbox

with Sandbox.create(timeout=60) as sandbox:
    sandbox.files.write("people.csv", "name,age\nAda,36\nAlan,41\n")
    print("lines:", sandbox.commands.run("wc -l < /home/user/people.csv").stdout.strip())

    watching = sandbox.files.watch_dir(".")
    background = sandbox.commands.run("cat > typed.txt", background=True, stdin=True)
    sandbox.commands.send_stdin(background.pid, "from outside\n")
    sandbox.commands.close_stdin(background.pid)
    background.wait()
    print("typed:", sandbox.files.read("typed.txt").strip())
    print("changed:", sorted({event.name for event in watching.get_new_events()}))

    sandbox.run_code("import csv; people = list(csv.DictReader(open('/home/user/people.csv')))")
    pieces = []
    sandbox.run_code(
        "import sys; print('out'); print('err', file=sys.stderr)",
        on_stdout=lambda piece: pieces.append(piece.line.strip()),
        on_stderr=lambda piece: pieces.append(piece.line.strip()),
    )
    print("pieces:", sorted(pieces))
    print("mean age:", sandbox.run_code("sum(int(each['age']) for each in people) / len(people)").text)
