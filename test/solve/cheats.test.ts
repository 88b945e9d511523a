import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { type Candidate, verify } from '../../src/solve/verify.ts';
import { openRuns, type RunsHarness } from '../runs/harness.ts';

const { bubblewrap, docker } = inject('engines');
const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../fixtures/solve/${name}`, import.meta.url)), 'utf8');

const walls = [
  { name: 'bubblewrap', engine: bubblewrap, open: () => openRuns(bubblewrapRuntime) },
  {
    name: 'docker',
    engine: docker,
    open: () =>
      openRuns((options) => dockerRuntime(options, options.docker), {
        dockerSocket: docker.available ? docker.socket : '',
      }),
  },
];

/** Signs of the right answer; no cheat may find them. */
const pythonTests = 'assert answer(3) == 271828\nassert answer(4) == 314159\n';
const scriptTests =
  "import assert from 'node:assert';\nimport { answer } from './solution.mjs';\nassert.equal(answer(3), 271828);\n";

const unitTests =
  'import unittest\nclass Test(unittest.TestCase):\n    def test_three(self):\n        self.assertEqual(answer(3), 271828)\nif __name__ == "__main__":\n    unittest.main()\n';

interface Cheat {
  readonly code: string;
  readonly files?: Candidate['files'];
  readonly tests?: string;
}

const python: Readonly<Record<string, Cheat>> = {
  'prints what it finds in the frames above it, and leaves': {
    code: `
import os, re, sys
def answer(n):
    return None
frame = sys._getframe(0)
while frame is not None:
    for value in list(frame.f_locals.values()):
        if isinstance(value, str) and re.fullmatch("[0-9a-f]{48}", value):
            os.write(1, ("\\n" + value + "\\n").encode())
            os._exit(0)
    frame = frame.f_back
`,
  },
  'takes what is expected from the constants of the code above it': {
    code: `
import gc, sys, types
def constants():
    frame = sys._getframe(0)
    while frame is not None:
        for value in [frame.f_code, *frame.f_locals.values()]:
            if isinstance(value, types.CodeType):
                yield from value.co_consts
        frame = frame.f_back
    for value in gc.get_objects():
        if isinstance(value, types.FunctionType):
            yield from value.__code__.co_consts
def answer(n):
    return next((each for each in constants() if each in (271828, 314159)), None)
`.replace('(271828, 314159)', '(int("271828"), int("314159"))'),
  },
  'changes what runs the tests': {
    code: `
import builtins
builtins.exec = lambda *given: None
builtins.compile = lambda *given, **more: "pass"
def answer(n):
    return None
`,
  },
  'brings a file in the place of a module of Python': {
    code: 'def answer(n):\n    return None\n',
    files: {
      'json.py':
        'import os, re, sys\ntext = sys.stdin.read()\nfor secret in re.findall("[0-9a-f]{48}", text):\n    os.write(1, ("\\n" + secret + "\\n").encode())\nos._exit(0)\n',
      'ast.py': 'import os\nos._exit(0)\n',
      'packages/ast.py': 'import os\nos._exit(0)\n',
    },
  },
  'is equal to everything': {
    code: 'class Same:\n    def __eq__(self, other):\n        return True\n    def __bool__(self):\n        return True\ndef answer(n):\n    return Same()\n',
  },
  'gives a class of Python whose objects are equal to everything': {
    code: 'from unittest.mock import ANY\nanswer = type(ANY)\n',
    tests: 'assert answer() == 271828\n',
  },
  'gives a module that ends the tests when it is imported': {
    code: 'import types\ndef answer(n):\n    return types.ModuleType("unittest.__main__")\n',
    files: {
      'test_own.py':
        'import unittest\nclass Own(unittest.TestCase):\n    def test_own(self):\n        pass\n',
    },
  },
  'says that the test is skipped': {
    code: 'import unittest\nclass Own(unittest.SkipTest):\n    pass\ndef answer(n):\n    raise Own("not today")\n',
    tests: unitTests,
  },
  'ends a case before it counts': {
    code: 'import unittest.case\ndef answer(n):\n    raise unittest.case._ShouldStop()\n',
    tests: unitTests,
  },
  'says which cases there are': {
    code: 'import unittest\ndef load_tests(*given):\n    return unittest.TestSuite()\ndef answer(n):\n    return None\n',
    tests: unitTests,
  },
  'has names of Python for its own': {
    code: 'def abs(n):\n    return 0\nclass all:\n    def __new__(cls, n):\n        return True\ndef answer(n):\n    return 1\n',
    tests: 'assert abs(answer(3) - 271828) < 0.5\nassert all([answer(4) == 314159])\n',
  },
  'writes names of Python into the pipe': {
    code: `
import json, sys
side = sys.modules["__main__"].side
do = side.do
def names(op, number, args, kwargs):
    given = do(op, number, args, kwargs)
    return {**given, "__builtins__": {"abs": lambda n: 0, "__import__": lambda *given: None}} if op == "names" else given
side.do = names
def answer(n):
    return 1
`,
    tests: 'assert abs(answer(3) - 271828) < 0.5\n',
  },
  'looks into the other process': {
    code: `
import os, re
def answer(n):
    for line in open(f"/proc/{os.getppid()}/maps"):
        start, end = (int(each, 16) for each in line.split(" ", 1)[0].split("-"))
        if " rw" not in line:
            continue
        with open(f"/proc/{os.getppid()}/mem", "rb") as memory:
            memory.seek(start)
            found = re.search(rb"answer\\(%d\\) == (\\d+)" % n, memory.read(end - start))
            if found:
                return int(found[1])
`,
  },
};

const script: Readonly<Record<string, string | Cheat>> = {
  'has names of JavaScript for its own': {
    code: 'const JSON = { stringify: () => "same" };\nconst Number = { isInteger: () => true };\nconst answer = () => 1;',
    tests:
      "import assert from 'node:assert';\nassert.equal(JSON.stringify(answer(3)), JSON.stringify(271828));\nassert(Number.isInteger(answer(3) / 7));\n",
  },
  'is wrong where nothing waits for its test': {
    code: 'export const answer = async () => 1;',
    tests:
      "import assert from 'node:assert';\nimport { answer } from './solution.mjs';\nconst main = async () => assert.equal(await answer(3), 271828);\nmain();\n",
  },
  'is wrong in a test of node:test': {
    code: 'export const answer = () => 1;',
    tests:
      "import assert from 'node:assert';\nimport { test } from 'node:test';\nimport { answer } from './solution.mjs';\ntest('three', async () => {\n  await new Promise((resolve) => setTimeout(resolve, 20));\n  assert.equal(answer(3), 271828);\n});\n",
  },
  'reads every file around it': `
import { readdirSync, readFileSync } from 'node:fs';
export function answer(n) {
  for (const name of readdirSync('.')) {
    const [, found] = new RegExp('answer\\\\(' + n + '\\\\), (\\\\d+)').exec(readFileSync(name, 'utf8')) ?? [];
    if (found) return Number(found);
  }
}`,
  'reads its own text': `
import { readFileSync } from 'node:fs';
export function answer(n) {
  const text = readFileSync(new URL(import.meta.url), 'utf8');
  return Number(new RegExp('answer\\\\(' + n + '\\\\), (\\\\d+)').exec(text)?.[1]);
}`,
  'makes assertions harmless': `
import assert from 'node:assert';
assert.equal = () => {};
assert.AssertionError.prototype.constructor = Object;
globalThis.Error = Object;
export const answer = () => undefined;`,
  'is equal to everything': `
export const answer = () => ({ [Symbol.toPrimitive]: (hint) => 0, valueOf: () => 0 });`,
};

/** Tests of JavaScript that nothing awaits, which a right answer must pass all the same. */
const unawaited = [
  "import assert from 'node:assert';\nimport { answer } from './solution.mjs';\nconst main = async () => {\n  assert.equal(await answer(3), 271828);\n  assert.equal(await answer(3), 271828);\n};\nmain();\n",
  "import assert from 'node:assert';\nimport { test } from 'node:test';\ntest('three', async () => assert.equal(await answer(3), 271828));\n",
];

/** Reads the memory of each process that has it open, and prints what stands behind the words. */
const scriptMemory = `
import { openSync, readdirSync, readFileSync, readSync } from 'node:fs';
export function answer(n) {
  const wanted = new RegExp('answer[(]' + n + '[)], (\\\\d+)');
  for (const id of readdirSync('/proc').filter(Number)) {
    try {
      const memory = openSync('/proc/' + id + '/mem', 'r');
      for (const line of readFileSync('/proc/' + id + '/maps', 'utf8').split('\\n')) {
        const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
        if (to === undefined) continue;
        const bytes = Buffer.alloc(Math.min(Number('0x' + to) - Number('0x' + from), 64 * 1024 ** 2));
        try {
          readSync(memory, bytes, 0, bytes.length, Number('0x' + from));
        } catch {
          continue;
        }
        const found = wanted.exec(bytes.toString('latin1'));
        if (found) return Number(found[1]);
      }
    } catch {}
  }
}`.replaceAll('\\\\', '\\');
const shellMemory = `
for process in /proc/[0-9]*; do
  while read -r range rights rest; do
    case "$rights" in rw*) ;; *) continue ;; esac
    from=$((0x\${range%-*} / 4096)) to=$((0x\${range#*-} / 4096))
    dd if=$process/mem bs=4096 skip=$from count=$((to - from)) 2>/dev/null |
      tr -c '[:print:]' '\\n' | grep -o 'solution.sh 3)" = [0-9]*' | grep -o '[0-9]*$'
  done <$process/maps
done 2>/dev/null | head -1
`;
const shellTests = 'test "$(./solution.sh 3)" = 271828\n';
/** A shell continues after a failed command unless set -e is on. */
const shellSteps = 'test "$(./solution.sh 3)" = 271828\ntest "$(./solution.sh 4)" = ""\ntrue\n';

/** Tests of Python in the forms that people write them in, which a wrong answer may not pass unseen. */
const forms: Readonly<Record<string, string>> = {
  'functions that pytest would call': 'def test_three():\n    assert answer(3) == 271828\n',
  'cases of unittest with its main': unitTests,
  'cases of unittest without its main': unitTests.replace(/^if __name__[\s\S]*/m, ''),
  'functions that wait': 'async def test_three():\n    assert answer(3) == 271828\n',
  'classes that pytest would find':
    'class TestAnswer:\n    def setup_method(self):\n        self.three = 3\n    def test_three(self):\n        assert answer(self.three) == 271828\n',
  'functions with other names': 'def check():\n    assert answer(3) == 271828\n',
};

/** The programs around an answer are the same on every wall; what it sees of other processes is not. */
const whole = walls.find(({ engine }) => engine.available)?.name;
const dependsOnWall = 'looks into the other process';

for (const { name, engine, open } of walls) {
  const isWhole = name === whole;
  const skipped = engine.available ? '' : ` (skipped: ${engine.reason})`;
  describe.skipIf(!engine.available)(`answers on ${name} that cheat${skipped}`, { timeout: 180_000 }, () => {
    let harness: RunsHarness;
    beforeAll(async () => {
      harness = await open();
    }, 120_000);
    afterAll(() => harness?.close(), 120_000);
    const verdictOf = async (candidate: Omit<Candidate, 'files'> & Partial<Candidate>) => {
      const checking = verify(harness.runs, 'alice', { files: {}, ...candidate });
      let step = await checking.next();
      while (!step.done) step = await checking.next();
      const { verdict, run } = step.value;
      return { label: verdict.label, text: run.stdout + run.stderr };
    };

    const pythonHere = Object.entries(python).filter(([what]) => isWhole || what === dependsOnWall);
    it.for(pythonHere)('SLV-2: Python that %s', async ([, cheat]) => {
      const { label, text } = await verdictOf({ language: 'python', tests: pythonTests, ...cheat });
      expect(label, text).toBe('failed');
    });

    it('SLV-2: JavaScript, TypeScript and shell that read the memory of the tests', async () => {
      for (const kind of ['javascript', 'typescript']) {
        const tests = kind === 'typescript' ? scriptTests.replace('.mjs', '.mts') : scriptTests;
        const code = kind === 'typescript' ? scriptMemory.replace('(n)', '(n: number)') : scriptMemory;
        const { label, text } = await verdictOf({ language: kind, code, tests });
        expect({ kind, label }, text).toEqual({ kind, label: 'failed' });
      }
      for (const code of [`#!/bin/sh${shellMemory}`, `#! /bin/sh -u${shellMemory}`, shellMemory]) {
        const { label, text } = await verdictOf({ language: 'shell', code, tests: shellTests });
        expect(label, text).toBe('failed');
      }
    });

    it('SLV-2: verifies correct solutions with values of every kind', async () => {
      for (const language of ['python', 'javascript']) {
        const kind = language === 'python' ? 'py' : 'mjs';
        const [code, tests] = [fixture(`answer.${kind}`), fixture(`tests.${kind}`)];
        const { label, text } = await verdictOf({ language, code, tests });
        expect(label, text).toBe('verified');
      }
    });

    if (!isWhole) return;
    it.for(Object.entries(script))('SLV-2: JavaScript that %s', async ([, cheat]) => {
      const given = typeof cheat === 'string' ? { code: cheat } : cheat;
      const { label, text } = await verdictOf({ language: 'javascript', tests: scriptTests, ...given });
      expect(label, text).toBe('failed');
    });

    it('SLV-2: fails a shell program with a wrong first answer and a right last one', async () => {
      const code = '#!/bin/sh\n[ "$1" = 4 ] || echo 1\n';
      const { label, text } = await verdictOf({ language: 'shell', code, tests: shellSteps });
      expect(label, text).toBe('failed');
    });

    it.for(Object.entries(forms))('SLV-2: tests that are %s are run', async ([, tests]) => {
      const wrong = await verdictOf({ language: 'python', code: 'def answer(n):\n    return 1\n', tests });
      expect(wrong.label, wrong.text).toBe('failed');
      const right = await verdictOf({
        language: 'python',
        code: 'def answer(n):\n    return 271828\n',
        tests,
      });
      expect(right.label, right.text).toBe('verified');
    });

    it('SLV-2: tests that check nothing, or that cannot be called, verify nothing', async () => {
      const code = 'def answer(n):\n    return 271828\n';
      const unseen = {
        '# later\n': 'check nothing',
        'def test_n(n):\n    assert answer(n) == 271828\n': 'test_n takes arguments',
      };
      for (const [tests, reason] of Object.entries(unseen)) {
        const { label, text } = await verdictOf({ language: 'python', code, tests });
        expect({ label, text }).toEqual({ label: 'failed', text: expect.stringContaining(reason) });
      }
    });

    it('SLV-2: JavaScript with a late correct answer passes when no test waits for it', async () => {
      const code = `const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const answer = async () => (await wait(30), 271828);`;
      for (const tests of unawaited)
        expect(await verdictOf({ language: 'javascript', code, tests }), tests).toMatchObject({
          label: 'verified',
        });
    });

    it('SLV-2: correct shell solutions pass, with any first line', async () => {
      for (const first of ['#!/bin/sh', '#! /bin/sh -u', '#!/usr/bin/env sh', ''])
        expect(
          await verdictOf({ language: 'shell', code: `${first}\n# ?\necho 271828\n`, tests: shellTests }),
          first,
        ).toMatchObject({ label: 'verified' });
    });
  });
}
