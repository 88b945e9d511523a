import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Runs } from '../../src/runs/index.ts';
import type { RunOptions } from '../../src/runs/options.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { fixtureText } from '../contracts/harness.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openRuns, type RunsHarness } from './harness.ts';
import { withOwnNode } from './own-node.ts';

const { docker, bubblewrap } = inject('engines');
const places = [
  {
    name: 'docker',
    missing: docker.available ? undefined : docker.reason,
    make: (options: RuntimesOptions) => dockerRuntime(options, options.docker),
    world: docker.available ? { dockerSocket: docker.socket } : {},
  },
  {
    name: 'bubblewrap',
    missing: bubblewrap.available ? undefined : bubblewrap.reason,
    make: withOwnNode(bubblewrapRuntime),
    world: {},
  },
  { name: 'native', missing: undefined, make: withOwnNode(nativeRuntime), world: {} },
];

describe('a waiting interpreter that does not fit the next run', () => {
  it('does not say that it waits: a Python that has no arguments yet', async () => {
    using folder = temporaryFolder();
    await copyFile(
      new URL('../../src/runs/prestart/sitecustomize.py', import.meta.url),
      `${folder.path}/sitecustomize.py`,
    );
    const code = 'import sys; del sys.argv; import sitecustomize';
    const env = { ...process.env, PYTHONPATH: folder.path };
    const starting = promisify(execFile)('python3', ['-S', '-c', code], { env });
    starting.child.stdin?.end();
    await expect(starting).rejects.toMatchObject({ code: 1, stdout: '' });
  });
});

/** A run whose output does not say in which sandbox it was, where a workdir is a path of the host. */
async function toldBy(runs: Runs, code: string, language: string, options: RunOptions) {
  const { stdout, stderr, exitCode, sandbox } = await runs.run(code, language, options);
  const place = new RegExp(`/[^"\\s]*/${sandbox.id}`, 'g');
  return { stdout: stdout.replaceAll(place, ''), stderr: stderr.replaceAll(place, ''), exitCode };
}

/** How each interpreter was really started: what the kernel knows of it cannot be tidied away. */
const waited = {
  python: 'print("gate" in open("/proc/self/environ").read())',
  javascript: 'console.log(require("node:fs").readFileSync("/proc/self/cmdline", "utf8").includes("gate"))',
} as const;
const decidedAtStart = { python: { PYTHONHASHSEED: '7' }, javascript: { NODE_OPTIONS: '--no-warnings' } };

for (const { name, missing, make, world } of places) {
  const title = `interpreters that wait, on ${name}${missing === undefined ? '' : ` (skipped: ${missing})`}`;
  describe.skipIf(missing !== undefined)(title, () => {
    let ahead: RunsHarness;
    let plain: RunsHarness;
    beforeAll(async () => {
      ahead = await openRuns(make, world);
      plain = await openRuns(make, world, { prestart: false });
    });
    afterAll(async () => {
      await ahead?.close();
      await plain?.close();
    });

    describe.each(['python', 'javascript'] as const)('%s', (language) => {
      const options: RunOptions = {
        argv: ['a b', '', 'ü$`"', '--require'],
        env: { NAME: 'a=b', EMPTY: '', LINES: 'one\ntwo' },
        stdin: 'what is\0read',
        files: { 'below/data.txt': 'x', 'json.py': 'raise ImportError("hidden")' },
        cwd: 'below',
      };
      const hasWaited = async (harness: RunsHarness, more: RunOptions = {}) =>
        (await harness.runs.run(waited[language], language, more)).stdout.trim().toLowerCase();

      it('RUN-8: a run uses the waiting interpreter of its sandbox', async () => {
        expect([await hasWaited(ahead), await hasWaited(ahead, options)]).toEqual(['true', 'true']);
        expect(await hasWaited(plain)).toBe('false');
      });

      it('RUN-8: code sees the same arguments, environment, stdin and files as without a waiting interpreter', async () => {
        const code = await fixtureText(`tell/tell.${language === 'python' ? 'py' : 'js'}`);
        const { 'json.py': _, ...files } = options.files ?? {};
        const [one, other] = await Promise.all(
          [ahead, plain].map(({ runs }) => toldBy(runs, code, language, { ...options, files })),
        );
        const told = JSON.parse(one?.stdout ?? '');
        expect(told).toMatchObject({ env: options.env, stdin: options.stdin });
        expect(told.argv.slice(-4)).toEqual(options.argv);
        expect(told).toEqual(JSON.parse(other?.stdout ?? ''));
        expect(one).toMatchObject({ exitCode: 1, stderr: other?.stderr });
      });

      it('a variable that changes interpreter startup gets a new interpreter', async () => {
        expect(await hasWaited(ahead, { env: decidedAtStart[language] })).toBe('false');
        expect(await hasWaited(ahead, { env: { PATH: '/usr/local/bin:/usr/bin:/bin' } })).toBe('false');
        expect(await hasWaited(ahead, { env: { HOME: '/tmp' } })).toBe('false');
      });

      it('passes on an environment that is too large for the opening message', async () => {
        const env = { LARGE: 'x'.repeat(100_000) };
        expect(await hasWaited(ahead, { env })).toBe('false');
      });
    });

    it('imports a module of the code instead of a preloaded module of the same name', async () => {
      const files = { 'json.py': 'mine = 1', 'struct.py': 'mine = 2', 'base64.py': 'mine = 3' };
      const code = 'import json, struct, base64; print(json.mine, struct.mine, base64.mine)';
      const [one, other] = await Promise.all(
        [ahead, plain].map(({ runs }) => runs.run(code, 'python', { files })),
      );
      expect(one).toMatchObject({ stdout: '1 2 3\n', stderr: '' });
      expect(other).toMatchObject({ stdout: '1 2 3\n' });
    });

    it('RUN-8: threads of the code, and processes that it forks, start as without waiting', async () => {
      const code = await fixtureText('tell/threads.js');
      const [one, other] = await Promise.all(
        [ahead, plain].map(({ runs }) => toldBy(runs, code, 'javascript', {})),
      );
      expect(one).toMatchObject({ stdout: other?.stdout, stderr: '', exitCode: 0 });
      expect(one?.stdout).toBe('hooks\nforked []\nthread []\nthread with an environment\n');
    });

    it('RUN-8: reads the package.json of the code: module type and imports', async () => {
      const description = { type: 'module', imports: { '#part': './part.js' } };
      const files = { 'package.json': JSON.stringify(description), 'part.js': 'export default 7' };
      const code = 'console.log(typeof require, await import("#part").then((part) => part.default))';
      expect(await ahead.runs.run(code, 'javascript', { files })).toMatchObject({ stdout: 'undefined 7\n' });
    });

    it('files of the code may have the names of files that Geode adds', async () => {
      const files = { 'sitecustomize.py': 'mine = 1', '.geode-gate/gate.cjs': 'mine' };
      const code =
        'import sys; sys.modules.pop("sitecustomize", None)\nimport sitecustomize; print(sitecustomize.mine)';
      expect(await ahead.runs.run(code, 'python', { files })).toMatchObject({ stdout: '1\n', stderr: '' });
      const read = 'console.log(require("node:fs").readFileSync(".geode-gate/gate.cjs", "utf8"))';
      expect(await ahead.runs.run(read, 'javascript', { files })).toMatchObject({ stdout: 'mine\n' });
    });

    it('RUN-8: runs ES modules, also in a waiting interpreter', async () => {
      const module = 'import { argv } from "node:process"; console.log(await Promise.resolve(argv[2]))';
      expect(await ahead.runs.run(module, 'javascript', { argv: ['x'] })).toMatchObject({ stdout: 'x\n' });
    });

    it('RUN-8: strips TypeScript types, also in a waiting interpreter', async () => {
      const typed = 'const it: string = process.argv[2] ?? ""; console.log(it)';
      expect(await ahead.runs.run(typed, 'typescript', { argv: ['x'] })).toMatchObject({ stdout: 'x\n' });
    });
  });
}
