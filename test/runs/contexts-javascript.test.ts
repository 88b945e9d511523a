import { beforeAll, describe, expect, it } from 'vitest';
import type { Context } from '../../src/runs/contexts/context.ts';
import { inEveryPlace } from './contexts-places.ts';

inEveryPlace('javascript', (place) => {
  let context: Context;
  beforeAll(async () => {
    context = await place.open();
  });

  describe('state', () => {
    it('RUN-10: keeps declarations for later runs, which may declare the same names again', async () => {
      await context.run(
        'const a = 1; let b = 2; var c = 3; class D { e = 4 }; function f() { return a + b }',
      );
      expect((await context.run('f() + c + new D().e')).value?.json).toBe(10);
      await context.run('const a = 10; let b = 20; class D { e = 40 }');
      expect((await context.run('f() + c + new D().e')).value?.json).toBe(73);
    });

    it('RUN-10: runs TypeScript without its types, or names the Node that it needs', async () => {
      const code =
        '%%typescript\ninterface Point { x: number }\nenum Side { Left = 4 }\nconst p: Point = { x: 3 };\np.x + Side.Left';
      const { value, error } = await context.run(code);
      const can = (await context.run('typeof require("node:module").stripTypeScriptTypes')).value?.json;
      if (can === 'undefined') expect(error?.message).toContain('TypeScript needs Node 22.13 or newer here');
      else {
        expect(value?.json).toBe(7);
        expect((await context.run('%%typescript\nconst q: = 1')).error?.name).toBe('SyntaxError');
      }
      expect((await context.run('1 + 1')).value?.json).toBe(2);
    });

    it('RUN-10: returns the value of the last expression, for every type', async () => {
      const texts: [string, string][] = [
        ['10n', '10n'],
        ['Symbol("x")', 'Symbol(x)'],
        ['({ a: 1 })', '{ a: 1 }'],
        ['{ a: 1 }', '{ a: 1 }'],
        ['-0', '-0'],
        ['NaN', 'NaN'],
        ['null', 'null'],
        ['"text"', "'text'"],
        ['new Map([[1, 2]])', 'Map(1) { 1 => 2 }'],
        ['function g() {}; g', '[Function: g]'],
        ['if (true) { 5 }', '5'],
      ];
      for (const [code, text] of texts) expect((await context.run(code)).value?.text, code).toBe(text);
      for (const code of ['undefined', 'let z = 1', ''])
        expect((await context.run(code)).value, code).toBeNull();
      await context.run('6 * 7');
      expect((await context.run('_ + 1')).value?.json).toBe(43);
    });
  });

  describe('await and modules', () => {
    it('RUN-10: await works at the top level, also in declarations', async () => {
      await context.run('const later = await new Promise((resolve) => setTimeout(resolve, 5, 7))');
      expect((await context.run('later * 2')).value?.json).toBe(14);
      expect((await context.run('for await (const n of [Promise.resolve(1)]) n')).value?.json).toBe(1);
    });

    it('RUN-10: require, import() and import statements, relative to the working folder', async () => {
      await place.sandbox().files.write('own.mjs', 'export const name = "own"; export default 5;');
      await place.sandbox().files.write('old.cjs', 'module.exports = "old";');
      expect((await context.run('require("./old.cjs") + require("node:path").sep')).value?.json).toBe('old/');
      expect((await context.run('(await import("./own.mjs")).name')).value?.json).toBe('own');
      const code =
        'import five, { name as title } from "./own.mjs";\nimport * as os from "node:os";\nfive + title + typeof os.EOL';
      expect((await context.run(code)).value?.json).toBe('5ownstring');
      expect((await context.run('title')).value?.json).toBe('own');
    });

    it('RUN-10: does not change the word import outside of code', async () => {
      const code =
        '/* import("x") */ const text = `\nimport a from "b"\n`; [text, "import(1)", /import(2)/.source]';
      expect((await context.run(code)).value?.json).toEqual([
        '\nimport a from "b"\n',
        'import(1)',
        'import(2)',
      ]);
    });
  });

  describe('results', () => {
    it('RUN-10: displayed values arrive in order, with all their formats', async () => {
      const code = `
        class Rich {
          _repr_html_() { return '<b>bold</b>' }
          _repr_png_() { return new Uint8Array([1, 2, 3]) }
          [Symbol.for('Jupyter.display')]() { return { 'text/plain': 'a rich one', 'image/svg+xml': '<svg/>' } }
        }
        display(1, 'two'); console.log('between'); display.markdown('# three'); new Rich()`;
      const { results, value, stdout } = await context.run(code);
      expect(results.map(({ kind, text }) => [kind, text])).toEqual([
        ['display', '1'],
        ['display', "'two'"],
        ['display', '<markdown>'],
        ['value', 'a rich one'],
      ]);
      expect(results[2]?.markdown).toBe('# three');
      expect(stdout).toBe('between\n');
      expect(value).toMatchObject({ html: '<b>bold</b>', svg: '<svg/>' });
      expect([...(value?.png ?? [])]).toEqual([1, 2, 3]);
    });

    it('RUN-10: returns JSON only when it is exact, and records as tables', async () => {
      expect((await context.run('({ a: [1, null, "ü"], when: new Date(0) })')).value?.json).toEqual({
        a: [1, null, 'ü'],
        when: '1970-01-01T00:00:00.000Z',
      });
      for (const code of ['new Map()', '({ f() {} })', '[NaN]', 'const loop = {}; loop.loop = loop; loop']) {
        expect((await context.run(code)).value, code).not.toHaveProperty('json');
      }
      expect((await context.run('[{ a: 1, b: "x" }, { a: 2, c: new Map() }]')).value?.table).toEqual({
        columns: ['a', 'b', 'c'],
        rows: [
          [1, 'x', null],
          [2, null, 'Map(0) {}'],
        ],
        totalRows: 2,
      });
    });

    it('RUN-10: console output is kept apart', async () => {
      const result = await context.run(
        'console.log("%s", "out"); console.error("err"); process.stdout.write("raw")',
      );
      expect(result).toMatchObject({ stdout: 'out\nraw', stderr: 'err\n' });
    });
  });

  describe('errors', () => {
    it('RUN-10: a stack shows places in user code, and none in the kernel', async () => {
      await context.run('function inner() {\n  null.field\n}');
      const { status, error } = await context.run('\ninner()');
      expect(status).toBe('failed');
      expect(error?.name).toBe('TypeError');
      expect(error?.traceback).toMatch(/at inner \(<run-\d+>:2:8\)\n {4}at <run-\d+>:2:1$/);
    });

    it('RUN-10: syntax errors point at the place', async () => {
      const { error } = await context.run('const a = 1;\nconst b = = 2;');
      expect(error?.name).toBe('SyntaxError');
      expect(error?.traceback).toMatch(/<run-\d+>:2\nconst b = = 2;\n {10}\^\n/);
    });

    it('RUN-10: rejections, causes and things that are no errors', async () => {
      expect((await context.run('await Promise.reject(new RangeError("far"))')).error).toMatchObject({
        name: 'RangeError',
        message: 'far',
      });
      const caused = await context.run('throw new Error("outer", { cause: new Error("inner") })');
      expect(caused.error?.traceback).toMatch(/Error: outer[\s\S]*Caused by: Error: inner/);
      expect((await context.run('throw 5')).error).toMatchObject({ name: 'Thrown', message: '5' });
    });

    it('RUN-10: prints an error outside of the run on stderr, and the context survives', async () => {
      const first = await context.run(
        'const kept = 1; setTimeout(() => { throw new Error("late") }, 1); Promise.reject(new Error("lost"))',
      );
      const second = await context.run('await new Promise((resolve) => setTimeout(resolve, 50))');
      const stderr = first.stderr + second.stderr;
      expect(stderr).toMatch(/Uncaught Error: late/);
      expect((await context.run('kept')).value?.json).toBe(1);
    });
  });

  it('RUN-10: reports whether code is complete', async () => {
    const states = await Promise.all(
      ['1', 'function f() {', 'f(1', '`abc', 'await 1', 'a b', 'import fs from "node:fs"', '1 +'].map(
        (code) => context.check(code),
      ),
    );
    expect(states).toEqual([
      'complete',
      'incomplete',
      'incomplete',
      'incomplete',
      'complete',
      'invalid',
      'complete',
      'incomplete',
    ]);
  });
});
