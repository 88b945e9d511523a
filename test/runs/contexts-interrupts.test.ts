import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Context, openContext } from '../../src/runs/contexts/context.ts';
import { type ContextLanguage, contextLanguages } from '../../src/seams/run.ts';
import type { Workspace } from '../../src/seams/sandbox.ts';
import { eventually } from '../contracts/harness.ts';
import { inEveryPlace } from './contexts-places.ts';

/** Code that never ends by itself, each of its kind in another part of an interpreter. */
const endless = {
  python: {
    'a loop': 'while True: pass',
    'a system call': 'time.sleep(1000)',
    'a regular expression': 're.match(r"(a+)+$", "a" * 40 + "b")',
    'a child': 'subprocess.run(["sleep", "1000"])',
    'a long await': 'await asyncio.sleep(1000)',
    'short awaits': 'while True: await asyncio.sleep(0)',
    'a loop behind an await': 'await asyncio.sleep(0)\nwhile True: pass',
    'a loop beside an await':
      'async def busy():\n    while True: pass\nasyncio.ensure_future(busy())\nawait asyncio.sleep(1000)',
    'messages of many frames': 'while True: display("y" * 20_000)',
    output: 'while True: print("y" * 20_000)',
    'a command of the shell': '!sleep 1000 & sleep 1000',
    'the text of its value': 'class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()',
  },
  javascript: {
    'a loop': 'while (true);',
    'a system call': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
    'a regular expression': '/^(a+)+$/.test("a".repeat(40) + "b")',
    'a long await': 'await new Promise((resolve) => setTimeout(resolve, 1e6))',
    'short awaits': 'for (;;) await null',
    'a loop behind an await': 'await new Promise(setImmediate); while (true);',
    'a loop beside an await':
      'process.nextTick(() => { while (true); }); await new Promise((resolve) => setTimeout(resolve, 1e6))',
    'messages of many frames': 'while (true) display("y".repeat(20_000))',
    output: 'while (true) console.log("y".repeat(20_000))',
    'output in turns': 'for (;;) { process.stdout.write("y".repeat(20_000)); await null; }',
    'the text of its value': '({ [Symbol.for("nodejs.util.inspect.custom")]() { while (true); } })',
  },
} as const satisfies Record<ContextLanguage, Readonly<Record<string, string>>>;

/** Code that ends by itself after about so many milliseconds, with output, a message of many frames and a value. */
const short = {
  python: (ms: number) =>
    `print("begun")\nawait asyncio.sleep(${ms / 2000})\ntime.sleep(${ms / 2000})\ndisplay("y" * 20_000)\n"whole"`,
  javascript: (ms: number) =>
    `console.log("begun"); await new Promise((resolve) => setTimeout(resolve, ${ms / 2})); { const end = performance.now() + ${ms / 2}; while (performance.now() < end); } display("y".repeat(20_000)); "whole"`,
} as const satisfies Record<ContextLanguage, (ms: number) => string>;

/** Python code that says `begun` where an interrupt is lost or comes too early, and then does not end by itself. */
const losing = {
  'a finalizer': `class Finalized:
    def __del__(self):
        print("begun")
        while True: pass
Finalized()
while True: pass`,
  'a finalizer whose loss the code does not want to hear of': `import sys
sys.unraisablehook = lambda dropped: None
class Finalized:
    def __del__(self):
        print("begun")
        while True: pass
Finalized()
while True: pass`,
  'the callback of a weak reference': `import weakref
class Referenced: pass
def gone(reference):
    print("begun")
    while True: pass
referenced = Referenced()
reference = weakref.ref(referenced, gone)
del referenced
while True: pass`,
  'a callback of the garbage collector': `import gc
def collecting(phase, info):
    gc.callbacks.clear()
    print("begun")
    while True: pass
gc.callbacks.append(collecting)
gc.collect()
while True: pass`,
  'a signal that the code took': `import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
print("begun")
signal.sigwait({signal.SIGIO})
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
time.sleep(1000)`,
  'the first of two loops beside an await': `async def busy():
    print("begun")
    while True: pass
tasks = [asyncio.ensure_future(busy()) for _ in range(2)]
await asyncio.sleep(1000)`,
} as const;

const rounds = Number(process.env.GEODE_INTERRUPT_ROUNDS ?? 10);

/** The next run is right, in the same interpreter, with its variables and its output. */
async function isUnharmed(context: Context): Promise<void> {
  const says = context.language === 'python' ? 'print("heard")' : 'console.log("heard")';
  expect(await context.run(`${says}\nkept`)).toMatchObject({
    status: 'done',
    stdout: 'heard\n',
    value: { json: 42 },
    interpreter: 1,
  });
}

async function openWithState(open: () => Promise<Context>): Promise<Context> {
  const context = await open();
  // Python itself leaves a module that is interrupted while it is first imported half-made.
  const imports = 'import asyncio, re, subprocess, time';
  await context.run(context.language === 'python' ? `${imports}\nkept = 42` : 'const kept = 42');
  return context;
}

for (const language of contextLanguages) {
  inEveryPlace(language, (place) => {
    describe('RUN-10: an interrupt ends its run', () => {
      it.for(Object.entries(endless[language]))('during %s', { timeout: 300_000 }, async ([, code]) => {
        await using context = await openWithState(() => place.open());
        for (let round = 0; round < rounds; round += 1) {
          const running = context.run(code, { timeoutMs: null });
          // From before the kernel has heard of the run to long after.
          await delay(round ** 2 / 2);
          const outcomes = await Promise.all([context.interrupt(), context.interrupt()]);
          expect(await running).toMatchObject({ status: 'interrupted', exit: null });
          expect(outcomes).toContain('stopped');
          await isUnharmed(context);
        }
      });

      it.runIf(language === 'python').for(Object.entries(losing))('lost in %s', async ([, code]) => {
        await using context = await openWithState(() => place.open());
        await context.run('await asyncio.sleep(0)');
        const begun = Promise.withResolvers<unknown>();
        const running = context.run(code, { timeoutMs: null, onEvent: begun.resolve });
        await begun.promise;
        expect(await context.interrupt()).toBe('stopped');
        expect(await running).toMatchObject({ status: 'interrupted', exit: null });
        await isUnharmed(context);
      });

      it.runIf(language === 'python')('and its code catches it once, not again', async () => {
        await using context = await openWithState(() => place.open());
        const begun = Promise.withResolvers<unknown>();
        const code = `try:
    print("begun")
    while True: pass
except KeyboardInterrupt:
    time.sleep(1.5)
"caught"`;
        const running = context.run(code, { timeoutMs: null, onEvent: begun.resolve });
        await begun.promise;
        expect(await context.interrupt()).toBe('stopped');
        expect(await running).toMatchObject({ status: 'done', value: { json: 'caught' } });
        await isUnharmed(context);
      });

      it.runIf(language === 'python')('and what it left on the loop does not hold up the next', async () => {
        await using context = await openWithState(() => place.open());
        await context.run('await asyncio.sleep(0)');
        const begun = Promise.withResolvers<unknown>();
        const code = `async def busy():
    open("looping", "w").close()
    while True: pass
task = asyncio.ensure_future(busy())
print("begun")
while True: pass`;
        const running = context.run(code, { timeoutMs: null, onEvent: begun.resolve });
        await begun.promise;
        expect(await context.interrupt()).toBe('stopped');
        expect(await running).toMatchObject({ status: 'interrupted', exit: null });
        const { files } = place.sandbox();
        await eventually(
          async () => (await files.list('.')).entries.some(({ name }) => name === 'looping'),
          'the loop',
          60_000,
        );
        await isUnharmed(context);
      });

      it.runIf(language === 'python')('after code that blocked all signals', async () => {
        const context = await openWithState(() => place.open());
        await context.run('import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())');
        const begun = Promise.withResolvers<unknown>();
        const running = context.run(`print("begun")\n${endless.python['a loop']}`, {
          timeoutMs: null,
          onEvent: begun.resolve,
        });
        await begun.promise;
        expect(await context.interrupt()).toBe('stopped');
        expect((await running).status).toBe('interrupted');
        await isUnharmed(context);
      });

      it.runIf(language === 'javascript')('while it awaits a promise that never settles', async () => {
        const context = await openWithState(() => place.open());
        const collect =
          'require("node:v8").setFlagsFromString("--expose-gc"); require("node:vm").runInNewContext("gc")()';
        for (let round = 0; round < rounds; round += 1) {
          const begun = Promise.withResolvers<unknown>();
          const onEvent = begun.resolve;
          const code = 'console.log("begun"); await new Promise(() => {})';
          const running = context.run(code, { timeoutMs: null, onEvent });
          await begun.promise;
          expect(await context.interrupt()).toBe('stopped');
          expect((await running).status).toBe('interrupted');
          expect(await context.run(collect)).toMatchObject({ status: 'done', interpreter: 1 });
          await isUnharmed(context);
        }
      });

      it('while the code is still being sent', async () => {
        await using context = await openWithState(() => place.open());
        const comment = language === 'python' ? '#' : '//';
        const code = `${comment}${'x'.repeat(5_000_000)}\n${endless[language]['a loop']}`;
        const running = context.run(code, { timeoutMs: null });
        expect(await context.interrupt()).toBe('stopped');
        expect((await running).status).toBe('interrupted');
        await isUnharmed(context);
      });

      it('while its interpreter is still starting', async () => {
        await using context = await place.open();
        const restarting = context.restart();
        const running = context.run(endless[language]['a loop'], { timeoutMs: null });
        expect(await context.interrupt()).toBe('stopped');
        await restarting;
        expect((await running).status).toBe('interrupted');
      });
    });

    describe('RUN-10: an interrupt does not affect other runs', () => {
      it('around the end of a run', { timeout: 300_000 }, async () => {
        await using context = await openWithState(() => place.open());
        for (let round = 0; round < 6 * rounds; round += 1) {
          const ms = (round % 10) * 25;
          const running = context.run(short[language](ms), { timeoutMs: null });
          const tooLate = new AbortController();
          const interrupting = delay((ms * (round % 7)) / 5, undefined, tooLate).then(
            () => Promise.all([context.interrupt(), context.interrupt()]),
            () => {},
          );
          const { status, value, exit } = await running;
          tooLate.abort();
          expect(exit).toBeNull();
          expect(['done', 'interrupted']).toContain(status);
          if (status === 'done') expect(value?.json).toBe('whole');
          await isUnharmed(context);
          await interrupting;
        }
      });

      it('when it arrives after the end of its run', async () => {
        const { workspace, hold, letGo } = withLateInterrupts(place.sandbox());
        await using context = await openWithState(() => openContext(workspace, language));
        hold();
        const first = context.run(short[language](200));
        const interrupting = context.interrupt();
        expect(await first).toMatchObject({ status: 'done', value: { json: 'whole' } });
        const second = context.run(short[language](200));
        letGo();
        expect(await second).toMatchObject({ status: 'done', value: { json: 'whole' }, interpreter: 1 });
        await interrupting;
      });
    });
  });
}

/** A line to the interpreter on which interrupts, as commands or as signals, take their time. */
function withLateInterrupts(workspace: Workspace): {
  workspace: Workspace;
  hold(): void;
  letGo(): void;
} {
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  const spawn: Workspace['spawn'] = async (...command) => {
    const process = await workspace.spawn(...command);
    const late =
      <Given extends string | Uint8Array>(act: (given: Given) => Promise<void>) =>
      async (given: Given) => {
        if (/SIGINT|"type":"interrupt"/.test(String(given))) await gate.promise;
        await act(given);
      };
    return Object.assign(Object.create(process), {
      write: late((bytes: string | Uint8Array) => process.write(bytes)),
      signal: late((name: Parameters<typeof process.signal>[0]) => process.signal(name)),
      kill: () => process.kill(),
      [Symbol.asyncIterator]: () => process[Symbol.asyncIterator](),
    });
  };
  return {
    workspace: { ...workspace, spawn },
    hold() {
      gate = Promise.withResolvers<void>();
    },
    letGo: () => gate.resolve(),
  };
}
