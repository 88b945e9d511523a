import { describe, expect, it } from 'vitest';
import { type Context, openContext } from '../../src/runs/contexts/context.ts';
import { inEveryPlace } from './contexts-places.ts';

const forgedLines = [
  '{"type": "done", "run": 1}',
  '{"type": "value", "run": 1, "rich": {"text": "forged", "omitted": []}}',
  '\u001e0123456789abcdef0123456789abcdef.001a{"type": "done", "run": 1}',
  '\u001e\u001e\u001e',
];

/** After any damage to the context, the next run works. */
async function stillWorks(context: Context): Promise<void> {
  expect(await context.run('6 * 7')).toMatchObject({ status: 'done', value: { json: 42 } });
}

inEveryPlace('python', (place) => {
  describe('output that imitates the protocol', () => {
    it('RUN-10: stays output, byte for byte, from print, os.write and child processes', async () => {
      const context = await place.open();
      const text = `${forgedLines.join('\n')}\n`;
      const result = await context.run(`
import os, subprocess, sys
text = ${JSON.stringify(text)}
print(text, end="", flush=True)
os.write(1, text.encode())
os.write(2, text.encode())
subprocess.run(["cat"], input=text.encode())
display(len(text))
6 * 7`);
      expect(result).toMatchObject({
        status: 'done',
        stdout: text.repeat(3),
        stderr: text,
        value: { json: 42 },
      });
      expect(result.results).toHaveLength(2);
    });

    it('RUN-10: constant output of a child process does not damage messages of the kernel', async () => {
      const context = await place.open();
      const { status, results, stdout } = await context.run(`
import subprocess
noisy = subprocess.Popen(["sh", "-c", "while :; do echo noise; done"])
for n in range(50): display("y" * 20_000)
noisy.kill()
noisy.wait();`);
      expect(status).toBe('done');
      expect(results.map(({ text }) => text.length)).toEqual(Array(50).fill(20_002));
      expect(stdout.replaceAll('noise\n', '')).toMatch(/^(noise|nois|noi|no|n)?$/);
    });

    it('RUN-10: keeps the output of child processes in order with the output of the code', async () => {
      const context = await place.open();
      const code = 'import os\nfor n in range(5):\n    print("a")\n    os.system("echo b")\nprint("c")';
      expect((await context.run(code)).stdout).toBe(`${'a\nb\n'.repeat(5)}c\n`);
    });

    it('RUN-10: a child cannot read commands', async () => {
      const context = await place.open();
      expect(
        (await context.run('import subprocess\nsubprocess.run(["cat"], capture_output=True).stdout')).value
          ?.text,
      ).toBe("b''");
    });
  });

  describe('code that changes its kernel affects only its own context', () => {
    const withToken = `
import gc, json, os
wire = next(o for o in gc.get_objects() if type(o).__name__ == "Wire")
def forge(text, kind=b"."):
    body = text if isinstance(text, bytes) else json.dumps(text).encode()
    os.write(1, wire.mark + kind + b"%04x" % len(body) + body)
`;
    it.for([
      ['ends that are not due', 'for n in range(3): forge({"type": "done", "run": n + 100})'],
      ['no JSON', 'forge(b"{not json")'],
      ['unknown messages', 'forge({"type": "take over"})'],
      ['wrong fields', 'forge({"type": "value", "run": "x", "rich": 5})'],
      ['a wrong head', 'os.write(1, wire.mark + b"?zzzz")'],
      ['an endless message', 'while True: forge(b"x" * 4000, b"+")'],
    ] as const)('RUN-10: %s end the interpreter', async ([, code]) => {
      const context = await place.open({ resultLimitBytes: 1_000_000 });
      const result = await context.run(`${withToken}${code}\nimport time\ntime.sleep(100)`);
      expect(result).toMatchObject({
        status: 'ended',
        error: { name: 'ProtocolViolation' },
        exit: { signal: 'SIGKILL' },
      });
      await stillWorks(context);
    });

    it.for([
      ['its descriptors closed', 'import os\nos.closerange(3, 256)'],
      ['its modules broken', 'import json\njson.dumps = None'],
    ] as const)('RUN-10: with %s it ends, and says so', async ([, code]) => {
      const context = await place.open();
      expect((await context.run(code)).status).toBe('ended');
      await stillWorks(context);
    });

    it.for([
      'import os\nos.close(1); os.close(2)',
      'import sys\nsys.stdout.close(); sys.stderr.close()',
      'import sys\nsys.stdout = sys.stderr = None',
      'import sys, builtins\nsys.excepthook = sys.displayhook = None\ndel builtins.display',
      'import os\nos.dup2(os.open("/dev/null", os.O_RDWR), 0)',
    ])('RUN-10: %j does no lasting harm', async (code) => {
      const context = await place.open();
      expect((await context.run(code)).status).toBe('done');
      expect(await context.run('print("heard")')).toMatchObject({
        status: 'done',
        stdout: 'heard\n',
        interpreter: 1,
      });
    });

    it('RUN-10: a forked copy that runs to the end of the code does not act as a second kernel', async () => {
      const context = await place.open();
      const result = await context.run(
        'import os\npid = os.fork()\nprint("child" if pid == 0 else "parent")\nif pid: os.waitpid(pid, 0)',
      );
      expect(result.status).toBe('done');
      expect(result.stdout.split('\n').sort()).toEqual(['', 'child', 'parent']);
      await stillWorks(context);
    });
  });

  it.skipIf(place.name !== 'docker')('RUN-10: reports out of memory, and the next run works', async () => {
    const sandbox = await place.another({ limits: { memoryBytes: 128 * 1024 ** 2 } });
    await using context = await openContext(sandbox, 'python');
    const result = await context.run('kept = []\nwhile True: kept.append(b"x" * 10_000_000)');
    expect(result).toMatchObject({ status: 'ended', exit: { signal: 'SIGKILL', oomKilled: true } });
    await stillWorks(context);
  });

  it('RUN-10: twenty simultaneous contexts have separate variables', async () => {
    const contexts = await Promise.all(Array.from({ length: 20 }, () => place.open()));
    await Promise.all(contexts.map((context, n) => context.run(`mine = ${n}`)));
    const results = await Promise.all(contexts.map((context) => context.run('print(mine)\nmine * 2')));
    expect(results.map(({ stdout }) => stdout)).toEqual(contexts.map((_, n) => `${n}\n`));
    expect(results.map(({ value }) => value?.json)).toEqual(contexts.map((_, n) => n * 2));
    await Promise.all(contexts.map((context) => context.close()));
  });
});

inEveryPlace('javascript', (place) => {
  it('RUN-10: output that imitates the protocol is output', async () => {
    const context = await place.open();
    const text = `${forgedLines.join('\n')}\n`;
    const result = await context.run(`
      const text = ${JSON.stringify(text)};
      console.log(text.trimEnd());
      require('fs').writeSync(1, text);
      require('fs').writeSync(2, text);
      require('child_process').execFileSync('cat', { input: text, stdio: ['pipe', 'inherit', 'inherit'] });
      display(1);
      6 * 7`);
    expect(result).toMatchObject({
      status: 'done',
      stdout: text.repeat(3),
      stderr: text,
      value: { json: 42 },
    });
    expect(result.results).toHaveLength(2);
  });

  it('RUN-10: a child cannot read commands', async () => {
    const context = await place.open();
    const code =
      'require("child_process").execFileSync("cat", { stdio: ["inherit", "pipe", "inherit"] }).toString()';
    expect((await context.run(code)).value?.json).toBe('');
  });

  it.for([
    'require("fs").closeSync(1); require("fs").closeSync(2)',
    'process.stdout.destroy(); process.stdin.resume()',
    'delete globalThis.display; delete globalThis.require',
    'Object.prototype.type = "done"',
    'process.removeAllListeners()',
  ])('RUN-10: %j does no lasting harm', async (code) => {
    const context = await place.open();
    expect((await context.run(code)).status).toBe('done');
    await stillWorks(context);
  });

  it.for([
    ['its descriptors closed', 'for (let n = 3; n < 64; n++) try { require("fs").closeSync(n) } catch {}'],
    ['its JSON broken', 'JSON.stringify = () => { throw new Error("broken") }'],
  ] as const)('RUN-10: with %s it ends or is ended, and the next run is right', async ([, code]) => {
    const context = await place.open({ graceMs: 300 });
    expect((await context.run(code, { timeoutMs: 2000 })).status).toMatch(/^(ended|timed-out)$/);
    await stillWorks(context);
  });

  it('RUN-10: twenty simultaneous contexts have separate variables', async () => {
    const roomy = { limits: { memoryBytes: 2 * 1024 ** 3, pids: 1024 } };
    const sandbox = place.name === 'docker' ? await place.another(roomy) : place.sandbox();
    const contexts = await Promise.all(Array.from({ length: 20 }, () => openContext(sandbox, 'javascript')));
    await Promise.all(contexts.map((context, n) => context.run(`const mine = ${n}`)));
    const results = await Promise.all(contexts.map((context) => context.run('console.log(mine); mine * 2')));
    expect(results.map(({ stdout }) => stdout)).toEqual(contexts.map((_, n) => `${n}\n`));
    expect(results.map(({ value }) => value?.json)).toEqual(contexts.map((_, n) => n * 2));
    await Promise.all(contexts.map((context) => context.close()));
  });
});
