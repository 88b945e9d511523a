import { beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../../src/runs/contexts/context.ts';
import { eventually } from '../contracts/harness.ts';
import { inEveryPlace } from './contexts-places.ts';

const onePixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

inEveryPlace('python', (place) => {
  let context: Context;
  beforeAll(async () => {
    context = await place.open();
  });

  describe('state', () => {
    it('RUN-10: keeps variables, imports, functions and classes between runs', async () => {
      await context.run('import math\nx = 20\ndef twice(n): return 2 * n\nclass Box:\n    size = 2');
      const result = await context.run('twice(x) + Box.size + math.floor(0.5)');
      expect(result).toMatchObject({ status: 'done', value: { text: '42', json: 42 }, interpreter: 1 });
    });

    it('RUN-10: the last value is _, a statement has none, and a semicolon hides it', async () => {
      await context.run('40 + 2');
      expect((await context.run('_ + 1')).value?.text).toBe('43');
      expect((await context.run('y = 1')).value).toBeNull();
      expect((await context.run('40 + 2;')).value).toBeNull();
      expect((await context.run('None')).value).toBeNull();
      expect((await context.run('')).status).toBe('done');
    });

    it('RUN-10: __main__ is real, so that pickle and dataclasses find what was defined', async () => {
      const code = `
import pickle, dataclasses
@dataclasses.dataclass
class Point:
    x: int
pickle.loads(pickle.dumps(Point(3))).x, __name__`;
      expect((await context.run(code)).value?.text).toBe("(3, '__main__')");
    });

    it('RUN-10: imports modules of the working folder; none of them replaces a module of the kernel', async () => {
      await place.sandbox().files.write('own_module.py', 'answer = 42');
      await place.sandbox().files.write('json.py', 'raise SystemExit("the wrong json")');
      try {
        const other = await place.open();
        expect((await other.run('import own_module; own_module.answer')).value?.text).toBe('42');
        expect((await other.run('{"a": 1}')).value?.json).toEqual({ a: 1 });
      } finally {
        await place.sandbox().files.remove('json.py');
      }
    });
  });

  describe('lines of notebooks', () => {
    it('RUN-10: !command, %magic and %%bash run, and the rest of the code sees their results', async () => {
      const code = `
where = !pwd
%env COLOUR=blue
name = 'a b'
if where:
    !echo $COLOUR {name} {c,d} \\
      more
!exit 3
_exit_code, len(where)`;
      const result = await context.run(code);
      expect(result).toMatchObject({ status: 'done', value: { text: '(3, 1)' } });
      expect(result.stdout).toMatch(/^blue a b .* more\n$/);
      await context.run('%%bash\ncd /; size=large; twice() { echo "$1$1"; }');
      const script = await context.run('%%bash\npwd; twice $size; echo "$COLOUR"');
      expect(script.stdout).toBe('/\nlargelarge\nblue\n');
    });

    it('RUN-10: an error names the line as it was written, an unknown line says so, and texts stay', async () => {
      expect((await context.run('!true\nx = (1')).error?.name).toBe('SyntaxError');
      expect((await context.run('!true\n\nundefined_name')).error?.traceback).toContain('line 3');
      expect((await context.run('%nothing here')).error?.message).toContain('%nothing does not exist here');
      expect((await context.run('len("""\n!not a command\n""")')).value?.text).toBe('16');
    });
  });

  describe('await', () => {
    it('RUN-10: await, async for and async with work at the top level, on one event loop', async () => {
      const code = `
import asyncio
async def count():
    for n in range(3):
        await asyncio.sleep(0)
        yield n
seen = []
async for n in count():
    seen.append(n)
queue = asyncio.Queue()
queue.put_nowait("kept")
await asyncio.sleep(0, result=seen)`;
      expect((await context.run(code)).value?.text).toBe('[0, 1, 2]');
      expect((await context.run('await queue.get()')).value?.text).toBe("'kept'");
    });

    it('RUN-10: a task that code makes before its first await runs on the same event loop', async () => {
      const other = await place.open();
      // Python 3.14 and newer refuse such a task.
      const code = `
import asyncio
try:
    task = asyncio.ensure_future(asyncio.sleep(0, result="done"))
except RuntimeError:
    task = asyncio.sleep(0, result="done")
await task`;
      expect((await other.run(code)).value?.json).toBe('done');
    });

    it('RUN-10: tasks continue between runs, and asyncio.run works too', async () => {
      await context.run('done = []\nasync def later():\n    await asyncio.sleep(0.01)\n    done.append(1)');
      await context.run('task = asyncio.ensure_future(later())\nawait asyncio.sleep(0)');
      await eventually(async () => (await context.run('done')).value?.text === '[1]', 'the task', 60_000);
      expect((await context.run('asyncio.run(asyncio.sleep(0, result=5))')).value?.text).toBe('5');
      expect((await context.run('await asyncio.sleep(0, result=6)')).value?.text).toBe('6');
    });
  });

  describe('results', () => {
    it('RUN-10: displayed values arrive in order, with all their formats', async () => {
      const code = `
import base64
class Rich:
    def _repr_html_(self): return "<b>bold</b>"
    def _repr_markdown_(self): return "**bold**"
    def _repr_svg_(self): return '<svg xmlns="http://www.w3.org/2000/svg"/>'
    def _repr_png_(self): return base64.b64decode("${onePixelPng}")
    def _repr_latex_(self): return "$x$"
    def __repr__(self): return "a rich one"
display(1, "two")
print("between")
display.html("<i>three</i>")
Rich()`;
      const { results, value, stdout } = await context.run(code);
      expect(results.map(({ kind, text }) => [kind, text])).toEqual([
        ['display', '1'],
        ['display', "'two'"],
        ['display', '<html>'],
        ['value', 'a rich one'],
      ]);
      expect(results[2]?.html).toBe('<i>three</i>');
      expect(stdout).toBe('between\n');
      expect(value).toMatchObject({
        html: '<b>bold</b>',
        markdown: '**bold**',
        svg: '<svg xmlns="http://www.w3.org/2000/svg"/>',
        latex: '$x$',
        omitted: [],
      });
      expect(Buffer.from(value?.png ?? []).toString('base64')).toBe(onePixelPng);
      expect(value).not.toHaveProperty('jpeg');
    });

    it('RUN-10: returns JSON only when it is exact', async () => {
      expect((await context.run('{"a": [1, 2.5, None, True], "b": "ü"}')).value?.json).toEqual({
        a: [1, 2.5, null, true],
        b: 'ü',
      });
      for (const code of ['{1, 2}', 'float("nan")', '[object()]', 'loop = []; loop.append(loop); loop']) {
        expect((await context.run(code)).value, code).not.toHaveProperty('json');
      }
    });

    it('RUN-10: returns lists of records as tables', async () => {
      const records = await context.run('[{"a": n, "b": str(n)} for n in range(5000)]');
      expect(records.value?.table).toMatchObject({ columns: ['a', 'b'], totalRows: 5000 });
      expect(records.value?.table?.rows).toHaveLength(1000);
    });

    // The machine's own libraries, which these runtimes show to a sandbox; once is enough.
    const hasLibraries = place.name === 'bubblewrap';
    const lacking = (module: string) =>
      context
        .run(`import importlib.util; importlib.util.find_spec("${module}") is None`)
        .then(({ value }) => value?.json === true);

    it.runIf(hasLibraries)('RUN-10: a pandas data frame is a table, with its index', async ({ skip }) => {
      skip(await lacking('pandas'), 'pandas is not installed here');
      const code = `
import pandas as pd
frame = pd.DataFrame({"name": ["a", "b"], "n": [1.5, None], "day": pd.to_datetime(["2026-01-02", "2026-01-03"])})
frame`;
      const { value, error } = await context.run(code, { timeoutMs: 80_000 });
      expect(error).toBeNull();
      expect(value?.table).toMatchObject({
        columns: expect.arrayContaining(['name', 'n', 'day']),
        totalRows: 2,
      });
      const { columns = [], rows = [] } = value?.table ?? {};
      const cell = (row: number, column: string) => rows[row]?.[columns.indexOf(column)];
      expect([cell(0, 'name'), cell(0, 'n'), cell(1, 'name'), cell(1, 'n')]).toEqual(['a', 1.5, 'b', null]);
      expect(String(cell(0, 'day'))).toContain('2026-01-02');
      expect(value?.html).toContain('<table');
      const big = await context.run('pd.DataFrame({"n": range(5000)})');
      expect(big.value?.table).toMatchObject({ totalRows: 5000 });
      expect(big.value?.table?.rows).toHaveLength(1000);
    });

    it.runIf(hasLibraries)('RUN-10: matplotlib figures are PNG', async ({ skip }) => {
      skip(await lacking('matplotlib'), 'matplotlib is not installed here');
      const code = `
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.show()
plt.plot([3, 2, 1]);`;
      const { results, error } = await context.run(code, { timeoutMs: 80_000 });
      expect(error).toBeNull();
      const pngs = results.filter(({ png }) => png !== undefined);
      expect(pngs).toHaveLength(2);
      expect(Buffer.from(pngs[0]?.png ?? []).toString('latin1', 1, 4)).toBe('PNG');
    });
  });

  describe('errors', () => {
    it('RUN-10: a traceback shows lines of user code, also of earlier runs, and none of the kernel', async () => {
      await context.run('def divide(a, b):\n    return a / b');
      const { status, error } = await context.run('print("before")\n\ndivide(1, 0)');
      expect(status).toBe('failed');
      expect(error).toMatchObject({ name: 'ZeroDivisionError', message: 'division by zero' });
      expect(error?.traceback).toMatch(/File "<run-\d+>", line 3, in <module>\n {4}divide\(1, 0\)/);
      expect(error?.traceback).toMatch(/File "<run-\d+>", line 2, in divide\n {4}return a \/ b/);
      expect(error?.traceback).not.toMatch(/geode_|asyncio/);
    });

    it('RUN-10: syntax errors point at the place', async () => {
      const { error } = await context.run('x = 1\nfor in range(3):\n  pass');
      expect(error?.name).toBe('SyntaxError');
      expect(error?.traceback).toMatch(/File "<run-\d+>", line 2\n {4}for in range/);
    });

    it('RUN-10: reports an error under await, a chained one, and one without text', async () => {
      const awaited = await context.run(
        'import asyncio\nasync def fail():\n    raise KeyError("k")\nawait fail()',
      );
      expect(awaited.error?.name).toBe('KeyError');
      expect(awaited.error?.traceback).toMatch(/line 4, in <module>/);
      const chained = await context.run(
        'try:\n    1/0\nexcept Exception as e:\n    raise ValueError("two") from e',
      );
      expect(chained.error?.traceback).toMatch(/ZeroDivisionError[\s\S]*direct cause[\s\S]*ValueError: two/);
      const mute = await context.run(
        'class Mute(Exception):\n    def __str__(self): raise OSError\nraise Mute()',
      );
      expect(mute).toMatchObject({ status: 'failed', error: { name: 'Mute' } });
    });

    it('RUN-10: exit() is an error of the run, and the context continues', async () => {
      await context.run('kept = 1');
      expect((await context.run('import sys; sys.exit(3)')).error).toMatchObject({
        name: 'SystemExit',
        message: '3',
      });
      expect((await context.run('kept')).value?.text).toBe('1');
    });

    it('RUN-10: a value whose repr fails is an error of the run', async () => {
      const { error } = await context.run(
        'class Bad:\n    def __repr__(self): raise RuntimeError("no text")\nBad()',
      );
      expect(error).toMatchObject({ name: 'RuntimeError', message: 'no text' });
    });

    it('RUN-10: endless recursion is an error', async () => {
      expect((await context.run('def f(): f()\nf()')).error?.name).toBe('RecursionError');
    });
  });

  it('RUN-10: reports whether code is complete', async () => {
    const states = await Promise.all(
      [
        'x = 1',
        'for x in y:',
        'for x in y:\n    pass',
        'for x in y:\n    pass\n',
        '"""abc',
        'f(',
        'x = = 1',
        'await x',
      ].map((code) => context.check(code)),
    );
    expect(states).toEqual([
      'complete',
      'incomplete',
      'incomplete',
      'complete',
      'incomplete',
      'incomplete',
      'invalid',
      'complete',
    ]);
  });

  it('RUN-10: stdin is empty, and warnings and logs go to stderr', async () => {
    expect((await context.run('input()')).error?.name).toBe('EOFError');
    const { stderr } = await context.run('import logging; logging.warning("look")');
    expect(stderr).toContain('look');
  });
});
