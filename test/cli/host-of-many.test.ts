import { once } from 'node:events';
import { chmod, chown, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { isRunning } from '../../src/machine/process-mark.ts';
import { running, started } from './beside.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const reason = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(`CLI-1: the host of several commands${reason}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap' });
  });
  afterEach(() => home.end());
  afterAll(() => home[Symbol.asyncDispose]());

  it('SBX-6: kill -9 of the host ends waiting commands with an error, restores terminals, and ends no sandbox', async () => {
    await home.ok(['sandbox', 'create', 'lost']);
    const script = 'echo once >> starts; echo up; exec sleep 3333';
    const waiting = await started(
      home,
      'sandbox',
      'exec',
      '--timeout',
      '0',
      'lost',
      '--',
      'sh',
      '-c',
      script,
    );
    await using me = home.sit(['shell', 'lost']);
    me.type("printf '\\033[?1049h'; echo full scr$((1))een\r");
    await me.sees('scr1een');
    const before = await home.host();
    process.kill(before.pid, 'SIGKILL');
    await waiting.over;
    expect(waiting.child.exitCode).toBe(125);
    expect(waiting.said.stderr).toContain('ended in the middle of this command');
    expect(await me.over).toBe(125);
    expect(me.written()).toContain('\x1b[?1049l');
    expect(me.screen()).toContain('ended in the middle');
    expect((await stat(before.serves?.api ?? '')).isSocket()).toBe(true);
    expect(await running(home, 'lost')).toHaveLength(2);
    expect((await home.host()).pid).not.toBe(before.pid);
    expect(await home.ok(['sandbox', 'exec', 'lost', '--', 'cat', 'starts'])).toBe('once\n');
    await using again = home.sit(['shell', 'lost']);
    await again.sees('scr1een');
  });

  it('SBX-6: with hosts killed repeatedly, every command ends and none runs twice', async () => {
    await home.ok(['sandbox', 'create', 'chaos']);
    const killed = new Set<number>();
    let isOver = false;
    const killing = (async () => {
      while (!isOver && killed.size < 5) {
        const { pid, serves } = await home.host();
        if (serves !== undefined && !killed.has(pid)) {
          await home.run(['sandbox', 'logs', 'chaos']);
          killed.add(pid);
          try {
            process.kill(pid, 'SIGKILL');
          } catch {
            // It ended by itself.
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const one = (index: number) =>
      home.run(['sandbox', 'exec', 'chaos', '--', 'sh', '-c', `echo ${index} >> ran; echo done ${index}`]);
    const outcomes = [];
    // On a busy machine a host takes its time to come back.
    for (let round = 0; round < 5 || (killed.size < 3 && round < 30); round += 1)
      outcomes.push(...(await Promise.all([0, 1, 2, 3, 4].map((index) => one(5 * round + index)))));
    isOver = true;
    await killing;
    expect(killed.size).toBeGreaterThan(2);
    // Nobody kills the host of the last round, so that not every command can have met a kill.
    const last = outcomes.length;
    outcomes.push(...(await Promise.all([0, 1, 2, 3, 4].map((index) => one(last + index)))));
    expect(outcomes.slice(last).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    const ran = (await home.ok(['sandbox', 'exec', 'chaos', '--', 'cat', 'ran']))
      .trim()
      .split('\n')
      .map(Number);
    expect(ran.length).toBe(new Set(ran).size);
    for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
      if (code === 0) expect([index, stdout, ran.includes(index)]).toEqual([index, `done ${index}\n`, true]);
      else expect([index, code, stderr]).toEqual([index, 125, expect.stringContaining('geode: ')]);
    }
  });

  it('reports a host that does not respond; it runs nothing later and can be replaced', async () => {
    await home.ok(['sandbox', 'create', 'still']);
    const { pid, start } = await home.host();
    const open = await started(
      home,
      'sandbox',
      'exec',
      'still',
      '--',
      'sh',
      '-c',
      'echo up; exec sleep 1000',
    );
    process.kill(pid, 'SIGSTOP');
    try {
      open.child.kill('SIGINT');
      await open.over;
      expect(open.child.exitCode).toBe(125);
      expect(open.said.stderr).toContain('does not answer an interrupt');
      const refused = await home.run(['sandbox', 'exec', 'still', '--', 'sh', '-c', 'echo ran > late'], '');
      expect(refused).toMatchObject({
        code: 125,
        stderr: expect.stringContaining(`process ${pid}, does not answer`),
      });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect((await home.run(['sandbox', 'exec', 'still', '--', 'cat', 'late'])).code).toBe(1);
    process.kill(pid, 'SIGSTOP');
    await home.ok(['sandbox', 'ps', '--take-over', 'still']);
    expect(isRunning({ pid, start })).toBe(false);
  });

  it('a command with other settings replaces an idle host, and is refused by a busy host', async () => {
    await home.ok(['sandbox', 'create', 'rules']);
    const { pid } = await home.host();
    const other = { GEODE_SANDBOX_MEMORY: '256m' };
    const args = ['sandbox', 'ps', '--wait', '0', 'rules'] as const;
    expect(await home.run(args, '', other)).toMatchObject({ code: 0 });
    const second = await home.host();
    expect(second.pid).not.toBe(pid);
    const three = await Promise.all([1, 2, 3].map(() => home.run(args)));
    expect(three.map(({ code, stderr }) => [code, stderr])).toEqual([1, 2, 3].map(() => [0, '']));
    expect(await home.run(args, '', other)).toMatchObject({ code: 0 });
    const third = await home.host();
    const busy = home.startWith(other, ['sandbox', 'exec', 'rules', '--', 'sh', '-c', 'echo up; sleep 1000']);
    await once(busy.stdout, 'data');
    const refused = await home.run([...args, '--json']);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      code: 'ledger_held',
      details: { pid: third.pid },
      error: expect.stringContaining('runs with other settings: sandbox.memory'),
    });
    // Leave out settings that only matter to the host.
    const kept = await home.run(args, '', { ...other, GEODE_SANDBOX_IDLE_TIMEOUT: '77' });
    expect(kept.code).toBe(0);
  });

  it('refuses an invalid request, and replaces an idle host of another version', async () => {
    await home.ok(['sandbox', 'create', 'strange']);
    const host = await home.host();
    const api = host.serves?.api ?? '';
    const say = async (words: string) => {
      const socket = connect(api);
      socket.end(words);
      return await text(socket);
    };
    expect(await say('GO\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    expect(await say('GET /api/v1/exec HTTP/1.1\r\nHost: localhost\r\n\r\n')).toMatch(/^HTTP\/1.1 426 /);
    expect(await home.ok(['sandbox', 'exec', 'strange', '--', 'echo', 'well'])).toBe('well\n');
    expect((await home.host()).pid).toBe(host.pid);
    const named = join(home.folder, '.local/state/geode/host.json');
    const said = JSON.parse(await readFile(named, 'utf8'));
    await writeFile(named, JSON.stringify({ ...said, serves: { ...said.serves, program: '9.9.9' } }));
    expect(await home.ok(['sandbox', 'exec', 'strange', '--', 'echo', 'well'])).toBe('well\n');
    await patiently(async () => !isRunning(host), 'the end of the host');
  });

  it('does not connect to a socket that may belong to another user', async () => {
    await home.ok(['sandbox', 'create', 'safe']);
    const { serves } = await home.host();
    const socket = serves?.api ?? '';
    expect((await stat(dirname(socket))).mode & 0o777).toBe(0o700);
    expect((await stat(socket)).mode & 0o777).toBe(0o600);
    const refusal = { code: 1, stderr: expect.stringContaining('may belong to another user') };
    if (process.getuid?.() === 0) {
      await chown(socket, 12345, 12345);
      expect(await home.run(['sandbox', 'ps', 'safe'])).toMatchObject(refusal);
      await chown(socket, 0, 0);
    }
    await chmod(dirname(socket), 0o755);
    expect(await home.run(['sandbox', 'ps', 'safe'])).toMatchObject(refusal);
    await chmod(dirname(socket), 0o700);
    await home.ok(['sandbox', 'ps', 'safe']);
  });

  it('stops cleanly although a command does not read', async () => {
    await home.ok(['sandbox', 'create', 'deaf']);
    const deaf = await started(home, 'sandbox', 'exec', '--timeout', '0', 'deaf', '--', 'yes');
    const state = join(home.folder, '.local/state/geode');
    deaf.child.kill('SIGSTOP');
    expect(await readdir(state)).toContain('ledger.db-wal');
    await home.ok(['host', 'stop']);
    expect(await readdir(state)).not.toContain('ledger.db-wal');
    deaf.child.kill('SIGCONT');
    await deaf.over;
    expect(deaf.child.exitCode).toBe(125);
    await home.ok(['sandbox', 'stop', 'deaf']);
  });

  it('appears in geode status, stops with geode host stop, and ends when its folders are removed', async () => {
    await home.ok(['sandbox', 'create', 'seen']);
    const { pid, serves } = await home.host();
    const status = await home.ok(['status']);
    expect(status).toContain(`process ${pid} (geode host)`);
    expect(status).toMatch(
      /^ {2}local\/seen +bubblewrap +os +running +stops in \d+ min if nothing uses it$/m,
    );
    expect(await home.ok(['host', 'stop'])).toContain(`(pid ${pid})`);
    const alone = await home.ok(['status']);
    expect(alone).toContain('none; a command that needs one starts it');
    expect(alone).toMatch(/^ {2}local\/seen +bubblewrap +os +running +stops 1 d after its host ended$/m);
    expect(await home.ok(['host', 'stop'])).toBe('No host is running.\n');
    await home.ok(['sandbox', 'ps', 'seen']);
    const next = await home.host();
    expect(next.serves?.api).toBe(serves?.api);
    await rm(next.serves?.api ?? '');
    await patiently(async () => !isRunning(next), 'the end of a host that cannot be found');
  });
});
