import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { converse, type InterpreterStreams } from '../../src/cli/converse.ts';
import { eventually } from '../contracts/harness.ts';
import { inEveryPlace, type Place } from './contexts-places.ts';

const geode = fileURLToPath(new URL('../../bin/geode.js', import.meta.url));

// A dumb terminal has no keys; the person here sits at another.
process.env.TERM = 'xterm';

/** A person at a terminal: types, and waits for what is shown. */
function person(place: Place, language: 'python' | 'javascript') {
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let seen = '';
  for (const stream of [output, errors])
    stream.on('data', (bytes) => {
      seen += bytes;
    });
  const conversation: InterpreterStreams = {
    input,
    output,
    errors,
    terminal: true,
    json: false,
    timeoutMs: null,
    signal: new AbortController().signal,
  };
  return {
    language,
    over: place.open().then((context) => converse(context, conversation)),
    /** Only what is shown after this is waited for. */
    type(keys: string) {
      seen = '';
      input.write(keys);
    },
    sees: (words: string) => eventually(async () => seen.includes(words), JSON.stringify(words), 60_000),
  };
}

inEveryPlace('python', (place) => {
  it('RUN-10: a terminal: prompts, statements of several lines, Ctrl-C and Ctrl-D', {
    timeout: 180_000,
  }, async () => {
    const me = person(place, 'python');
    await me.sees('>>> ');
    me.type('def f(n):\r');
    await me.sees('... ');
    me.type('    return n * 7\r');
    await me.sees('... ');
    me.type('\r');
    await me.sees('>>> ');
    me.type('f(6)\r');
    await me.sees('42\n');
    me.type('import time; print("beg" + "un"); time.sleep(1000)\r');
    await me.sees('begun');
    me.type('\u0003');
    await me.sees('KeyboardInterrupt');
    await me.sees('>>> ');
    me.type('half a line\u0003');
    await me.sees('>>> ');
    me.type('f(1)\r');
    await me.sees('7\n');
    me.type('\u0004');
    expect(await me.over).toBe(0);
  });
});

const { docker } = inject('engines');

describe.skipIf(!docker.available)('geode repl', () => {
  async function repl(options: readonly string[], lines: string) {
    const home = await mkdtemp(join(tmpdir(), 'geode-repl-'));
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: home,
      // Each has a home of its own: no host is started that the next would not find.
      GEODE_SANDBOX_LINGER: '0',
      GEODE_DOCKER_HOST: docker.available ? `unix://${docker.socket}` : '',
    };
    const child = spawn(process.execPath, [geode, 'repl', '--quiet', '--runtime', 'docker', ...options], {
      env,
    });
    child.stdin.end(lines);
    const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const code = await exited;
    await rm(home, { recursive: true });
    return { stdout, stderr, code };
  }

  it('RUN-10: runs the lines of a pipe in one interpreter and shows what each gives', async () => {
    const lines =
      'x = 6\ndef f(n):\n    return n * 7\n\nf(x)\nprint("printed")\ndisplay.markdown("# title")\n';
    expect(await repl(['--image', 'geode-test/python:1', 'python'], lines)).toEqual({
      stdout: '42\nprinted\n# title\n',
      stderr: '',
      code: 0,
    });
  });

  it('RUN-10: continues after an error, and returns it as the exit code', async () => {
    const result = await repl(['--image', 'geode-test/node:1', 'javascript'], 'null.x\n6 * 7\n');
    expect(result).toMatchObject({ stdout: '42\n', code: 1 });
    expect(result.stderr).toMatch(/^TypeError: [\s\S]*<run-1>:1:6/);
  });

  it('RUN-10: exit leaves with its code, --json gives results, and a wrong language is wrong usage', async () => {
    expect(await repl(['--image', 'geode-test/python:1', 'python'], 'exit(4)\n1\n')).toEqual({
      stdout: '',
      stderr: '',
      code: 4,
    });
    const { stdout } = await repl(['--json', '--image', 'geode-test/python:1', 'py'], '6 * 7\n');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'done', value: { json: 42 } });
    expect(await repl(['ruby'], '')).toMatchObject({ code: 2 });
  });
});
