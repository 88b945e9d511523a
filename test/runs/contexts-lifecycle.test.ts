import { describe, expect, it } from 'vitest';
import type { Context } from '../../src/runs/contexts/context.ts';
import type { ContextEvent, ContextResult } from '../../src/runs/contexts/result.ts';
import { type ContextLanguage, contextLanguages } from '../../src/seams/run.ts';
import { eventually } from '../contracts/harness.ts';
import { inEveryPlace } from './contexts-places.ts';

/** The same behaviour in the words of each language. */
const words = {
  python: {
    endless: 'print("begun", flush=True)\nwhile True: pass',
    endlessWait: 'import asyncio\nprint("begun", flush=True)\nawait asyncio.sleep(1000)',
    deaf: 'import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint("begun", flush=True)\ntime.sleep(1000)',
    set: (name: string, value: string) => `${name} = ${value}`,
    print: (text: string) => `print(${JSON.stringify(text)})`,
    exit: 'print("last words", flush=True)\nimport os\nos._exit(7)',
    killed: 'import os, signal\nos.kill(os.getpid(), signal.SIGKILL)',
    segfault: 'import ctypes\nctypes.string_at(0)',
    interrupted: 'KeyboardInterrupt',
    many: 'import sys\nfor n in range(100_000): print("x" * 99)\nprint("end", file=sys.stderr)',
    // An exit handler that takes longer than the grace time of an interrupt in the test below.
    flushed: (path: string) =>
      `import atexit, time\natexit.register(time.sleep, 1)\nkept_open = open(${JSON.stringify(path)}, "w")\nkept_open.write("flushed at the end")`,
  },
  javascript: {
    endless: 'console.log("begun"); while (true);',
    endlessWait: 'console.log("begun"); await new Promise((resolve) => setTimeout(resolve, 1e6))',
    deaf: 'console.log("begun"); require("child_process").execSync("sleep 1000")',
    set: (name: string, value: string) => `const ${name} = ${value}`,
    print: (text: string) => `console.log(${JSON.stringify(text)})`,
    exit: 'console.log("last words"); process.exit(7)',
    killed: 'process.kill(process.pid, "SIGKILL"); while (true);',
    segfault: 'process.kill(process.pid, "SIGSEGV"); while (true);',
    interrupted: 'Interrupted',
    many: 'for (let n = 0; n < 100_000; n++) console.log("x".repeat(99)); console.error("end")',
    flushed: (path: string) =>
      `process.on("exit", () => { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000); require("fs").writeFileSync(${JSON.stringify(path)}, "flushed at the end") }); 18`,
  },
} as const;

for (const language of contextLanguages) lifecycle(language);

function lifecycle(language: ContextLanguage): void {
  const say = words[language];

  /** Starts code that never ends, and waits until it has begun. */
  async function begin(
    context: Context,
    code: string,
    options: { timeoutMs?: number; signal?: AbortSignal } = {},
  ) {
    const begun = Promise.withResolvers<void>();
    const running = context.run(code, {
      timeoutMs: null,
      ...options,
      onEvent: (event) => {
        if (event.type === 'stdout' && event.text.includes('begun')) begun.resolve();
      },
    });
    running.catch(() => {});
    await Promise.race([begun.promise, running]);
    return { running };
  }

  /** A machine under load may not get to the first line within a short time; then the code gets a longer one. */
  async function timedOutAfterBegin(context: Context, code: string): Promise<ContextResult> {
    let result: ContextResult;
    let timeoutMs = 300;
    do {
      result = await context.run(code, { timeoutMs });
      timeoutMs *= 4;
    } while (result.stdout === '' && timeoutMs < 60_000);
    return result;
  }

  inEveryPlace(language, (place) => {
    describe('interrupt', () => {
      it.for(['endless', 'endlessWait'] as const)(
        'RUN-10: stops code (%s) and keeps the state',
        async (kind) => {
          const context = await place.open();
          await context.run(say.set('kept', '42'));
          const { running } = await begin(context, say[kind]);
          expect(await context.interrupt()).toBe('stopped');
          expect(await running).toMatchObject({
            status: 'interrupted',
            stdout: 'begun\n',
            error: { name: say.interrupted },
            exit: null,
          });
          expect(await context.run('kept')).toMatchObject({ value: { json: 42 }, interpreter: 1 });
          expect(await context.interrupt()).toBe('idle');
        },
      );

      it('RUN-10: ten interrupts in a row leave a context that works', async () => {
        const context = await place.open();
        for (let n = 0; n < 10; n += 1) {
          const { running } = await begin(context, n % 2 === 0 ? say.endless : say.endlessWait);
          await Promise.all([context.interrupt(), context.interrupt()]);
          expect((await running).status).toBe('interrupted');
          expect((await context.run('6 * 7')).value?.json).toBe(42);
        }
      });

      it('RUN-10: returns ignored when code does not react to the interrupt', async () => {
        const context = await place.open({ graceMs: 300 });
        const { running } = await begin(context, say.deaf);
        expect(await context.interrupt()).toBe('ignored');
        await context.restart();
        await expect(running).rejects.toMatchObject({ code: 'cancelled' });
      });
    });

    describe('time and cancel', () => {
      it('RUN-10: a timeout interrupts, keeps the output and the state', async () => {
        const context = await place.open();
        await context.run(say.set('kept', '42'));
        const result = await timedOutAfterBegin(context, say.endless);
        expect(result).toMatchObject({ status: 'timed-out', stdout: 'begun\n', exit: null });
        expect((await context.run('kept')).value?.json).toBe(42);
      });

      it('RUN-10: kills code that ignores the timeout after the grace time', async () => {
        const context = await place.open({ graceMs: 300 });
        const result = await timedOutAfterBegin(context, say.deaf);
        expect(result).toMatchObject({ status: 'timed-out', stdout: 'begun\n', exit: { signal: 'SIGKILL' } });
        expect(await context.run('6 * 7')).toMatchObject({
          value: { json: 42 },
          interpreter: result.interpreter + 1,
        });
      });

      it('RUN-10: a cancel stops the code before it rejects', async () => {
        const context = await place.open();
        const cancel = new AbortController();
        const { running } = await begin(context, say.endless, { signal: cancel.signal });
        cancel.abort();
        await expect(running).rejects.toMatchObject({ code: 'cancelled' });
        expect(await context.interrupt()).toBe('idle');
        expect(await context.run('6 * 7')).toMatchObject({ value: { json: 42 }, interpreter: 1 });
        await expect(context.run('1', { signal: AbortSignal.abort() })).rejects.toMatchObject({
          code: 'cancelled',
        });
      });

      it('RUN-10: runs of one context go one after the other; a waiting one can be cancelled', async () => {
        const context = await place.open();
        const cancel = new AbortController();
        const { running } = await begin(context, say.endless);
        const second = context.run(say.set('order', '"second"'));
        const given = context.run('1', { signal: cancel.signal });
        const third = context.run('order');
        cancel.abort();
        await expect(given).rejects.toMatchObject({ code: 'cancelled' });
        await context.interrupt();
        expect((await running).status).toBe('interrupted');
        expect((await second).status).toBe('done');
        expect((await third).value?.json).toBe('second');
      });
    });

    describe('the end of an interpreter', () => {
      it('RUN-10: reports an exit with its facts and output, and starts a fresh interpreter', async () => {
        const context = await place.open();
        await context.run(say.set('gone', '1'));
        expect(await context.run(say.exit)).toMatchObject({
          status: 'ended',
          stdout: 'last words\n',
          exit: { exitCode: 7, signal: null },
          interpreter: 1,
        });
        expect(await context.run('gone')).toMatchObject({
          status: 'failed',
          error: { name: language === 'python' ? 'NameError' : 'ReferenceError' },
          interpreter: 2,
        });
      });

      it.for([
        ['killed', 'SIGKILL'],
        ['segfault', 'SIGSEGV'],
      ] as const)('RUN-10: reports %s as %s', async ([kind, signal]) => {
        const context = await place.open();
        const result = await context.run(say[kind]);
        expect(result).toMatchObject({ status: 'ended', exit: { exitCode: null, signal }, interpreter: 1 });
        expect(await context.run('6 * 7')).toMatchObject({ value: { json: 42 }, interpreter: 2 });
      });

      it('RUN-10: replaces an interpreter that dies between two runs', async () => {
        const context = await place.open();
        const code =
          language === 'python'
            ? 'import threading, os\nthreading.Timer(0.05, os._exit, [1]).start()'
            : 'setTimeout(() => process.exit(1), 50)';
        await context.run(code);
        await eventually(
          async () => (await context.run('1')).interpreter === 2,
          'a fresh interpreter',
          60_000,
        );
      });

      it('RUN-10: restart drops the state at once, also in the middle of a run', async () => {
        const context = await place.open();
        await context.run(say.set('gone', '1'));
        const { running } = await begin(context, say.endless);
        await context.restart();
        await expect(running).rejects.toMatchObject({ code: 'cancelled' });
        expect(await context.run('gone')).toMatchObject({ status: 'failed', interpreter: 2 });
      });

      it('RUN-10: close runs exit handlers, ends all runs, and refuses new ones', async () => {
        const context = await place.open({ graceMs: 500, exitMs: 60_000 });
        await context.run(say.flushed('closing.txt'));
        const waiting = begin(context, say.endlessWait);
        await waiting;
        const late = context.run('1');
        await context.interrupt();
        await late;
        await Promise.all([context.close(), context.close()]);
        expect(await place.sandbox().files.readText('closing.txt')).toBe('flushed at the end');
        await expect(context.run('1')).rejects.toMatchObject({ code: 'process_not_found' });
        await expect(context.restart()).rejects.toMatchObject({ code: 'process_not_found' });
      });

      it('RUN-10: close in the middle of a run leaves no process', async () => {
        const context = await place.open();
        const child =
          language === 'python'
            ? 'import subprocess\nsubprocess.Popen(["sleep", "4321"])\n'
            : 'require("child_process").spawn("sleep", ["4321"]);\n';
        const { running } = await begin(context, child + say.endless);
        await context.close();
        await expect(running).rejects.toMatchObject({ code: 'cancelled' });
        const { processes, disowned } = await place.sandbox().processes();
        const left = [...processes.flatMap(({ children }) => children), ...disowned];
        expect(left.filter(({ command }) => command.includes('4321'))).toEqual([]);
      });
    });

    describe('output', () => {
      it('RUN-10: events come in order, and their text is the result', async () => {
        const context = await place.open();
        const events: ContextEvent[] = [];
        const code =
          language === 'python'
            ? 'print("a"); display(1); print("b"); 2'
            : 'console.log("a"); display(1); console.log("b"); 2';
        const result = await context.run(code, { onEvent: (event) => events.push(event) });
        const told = events.map((event) =>
          event.type === 'result' ? event.result.text : event.type === 'error' ? 'error' : event.text,
        );
        expect(told.join('')).toBe('a\n1b\n2');
        expect(result.stdout).toBe('a\nb\n');
      });

      it('RUN-10: returns 10 MB complete, and counts the bytes above the limit', async () => {
        const context = await place.open();
        const whole = await context.run(say.many);
        expect(whole).toMatchObject({ stderr: 'end\n', dropped: { stdout: 0, stderr: 0, results: 0 } });
        expect(whole.stdout).toBe(`${'x'.repeat(99)}\n`.repeat(100_000));
        const small = await place.open({ outputLimitBytes: 1000 });
        const cut = await small.run(say.many);
        expect(cut.stdout).toHaveLength(1000);
        expect(cut).toMatchObject({ stderr: 'end\n', dropped: { stdout: 10_000_000 - 1000 } });
      });

      it('RUN-10: results over the limit are left out and counted', async () => {
        const context = await place.open({ resultLimitBytes: 10_000 });
        const code =
          language === 'python' ? 'display.html("x" * 9000)\n' : 'display.html("x".repeat(9000));\n';
        const big = await context.run(code);
        expect(big.results[0]).toMatchObject({ text: '<html>', omitted: ['html'] });
        const repeat = language === 'python' ? '"y" * 4000' : '"y".repeat(4000)';
        const many = await context.run(`display.html(${repeat});\n`.repeat(4));
        expect(many.results).toHaveLength(2);
        expect(many.dropped.results).toBe(2);
      });

      it('RUN-10: Unicode stays unchanged in code, output and values', async () => {
        const context = await place.open();
        const text = 'Grüße 你好 🎉 \u0000 \u001e \u2028 ﷽';
        const result = await context.run(`${say.print(text)}\n${JSON.stringify(text)}`);
        expect(result.stdout).toBe(`${text}\n`);
        expect(result.value?.json).toBe(text);
      });

      it('RUN-10: runs large code', async () => {
        const context = await place.open();
        const code = `${say.set('text', JSON.stringify('x'.repeat(3_000_000)))}\n`;
        expect((await context.run(code)).status).toBe('done');
        const length = language === 'python' ? 'len(text)' : 'text.length';
        expect((await context.run(length)).value?.json).toBe(3_000_000);
      });
    });
  });
}
