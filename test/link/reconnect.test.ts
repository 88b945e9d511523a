import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { kill } from 'node:process';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { journalFiles } from '../../src/journals/journal-files.ts';
import { guestCommand } from '../../src/link/command.ts';
import { Link } from '../../src/link/link.ts';
import { ProcessStream } from '../../src/link/process-stream.ts';
import { eventually } from '../contracts/harness.ts';
import { startGuest } from './guest-process.ts';

describe('a link that breaks', () => {
  it('GL-7: loses and repeats no byte over many breaks', async () => {
    await using guest = await startGuest();
    const link = await guest.open();
    const journal = journalFiles(join(guest.folder, 'journals')).open('numbers');
    const command = guestCommand('numbers', {
      argv: ['/bin/sh', '-c', 'seq 1 400000; echo done >&2; exit 3'],
    });
    const process = await ProcessStream.start(link, command, journal);
    const hash = createHash('sha256');
    let length = 0;
    let breaks = 0;
    let exitCode: number | null | undefined;
    for await (const event of process) {
      if (event.type === 'stdout') hash.update(event.bytes);
      if (event.type === 'stdout' || event.type === 'stderr') {
        expect(event.offset).toBe(length);
        length += event.bytes.length;
        if (length > (breaks + 1) * 200_000) {
          breaks += 1;
          guest.connections.at(-1)?.destroy();
        }
      }
      if (event.type === 'exit') exitCode = event.exitCode;
    }
    expect(exitCode).toBe(3);
    const whole = Array.from({ length: 400_000 }, (_, index) => `${index + 1}\n`).join('');
    expect(breaks).toBeGreaterThan(5);
    expect(length).toBe(whole.length + 'done\n'.length);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(whole).digest('hex'));
    const replayed = [...journal.read(0)]
      .map((event) => (event.type === 'stdout' ? Buffer.from(event.bytes).toString() : ''))
      .join('');
    expect(replayed).toBe(whole);
  });

  it('GL-7: a process continues while no host runs', async () => {
    await using guest = await startGuest();
    const link = await guest.open();
    const command = guestCommand('alone', {
      argv: ['/bin/sh', '-c', 'sleep 0.3; echo while alone > alone; echo said'],
    });
    await ProcessStream.start(link, command);
    await link.close();
    await eventually(
      async () => readFile(join(guest.folder, 'alone'), 'utf8').catch(() => false as const),
      'the file that it writes alone',
    );
    const again = await Link.open(guest.options({ fresh: false }), { deadlineMs: 60_000 });
    let output = '';
    for await (const event of await ProcessStream.join(again, 'alone', 0)) {
      if (event.type === 'stdout') output += Buffer.from(event.bytes).toString();
    }
    expect(output).toBe('said\n');
    await again.close();
  });

  it('GL-5: guest and host both refuse a peer without the secret', async () => {
    await using guest = await startGuest();
    const link = await guest.open();
    await link.close();
    const claim = { ...guest.options().claim, secret: 'f'.repeat(64) };
    const wrong = () => guest.options({ fresh: false, claim });
    // A slow machine may not get as far as the guest's answer at first.
    await eventually(async () => {
      const error = await Link.open(wrong(), { deadlineMs: 1_500 }).catch((thrown) => thrown);
      expect(error).toMatchObject({ code: 'sandbox_not_ready' });
      return error.message.includes('pretended to be its guest');
    }, 'the refusal of the guest');
    const right = await Link.open(guest.options({ fresh: false }), { deadlineMs: 60_000 });
    expect(
      await right.call('GET', '/v1/processes', z.looseObject({ processes: z.array(z.unknown()) })),
    ).toMatchObject({ processes: [] });
    await right.close();
  });

  it('GL-5: connections without a proof of the secret do not block the host', async () => {
    await using guest = await startGuest();
    const link = await guest.open();
    const idle = Array.from({ length: 50 }, () => connect(guest.socket).on('error', () => {}));
    const noise = connect(guest.socket).on('error', () => {});
    noise.write('GET / HTTP/1.1\r\n\r\n');
    expect(await link.call('GET', '/v1/metrics', z.looseObject({ pids: z.number() }))).toBeDefined();
    for (const connection of [...idle, noise]) connection.destroy();
  });

  it('SBX-7: a frozen guest keeps its connection over many missed heartbeats; a hanging guest loses it', async () => {
    await using guest = await startGuest();
    const pingEveryMs = 1_000;
    const link = await Link.open(guest.options({ pingEveryMs }), { deadlineMs: 60_000 });
    const beats = (count: number) => new Promise((resolve) => setTimeout(resolve, count * pingEveryMs));
    const stop = async () => void guest.child.kill('SIGSTOP');
    const go = async () => void guest.child.kill('SIGCONT');
    const free = await link.hold(stop, go);
    const asked = link.call('GET', '/v1/metrics', z.looseObject({ pids: z.number() }));
    await beats(4);
    expect(guest.connections.map(({ destroyed }) => destroyed)).toEqual([false]);
    await free();
    expect(await asked).toBeDefined();
    await beats(2);
    expect(guest.connections.map(({ destroyed }) => destroyed)).toEqual([false]);
    expect(link.paused).toBe(false);
    await stop();
    await eventually(async () => guest.connections[0]?.destroyed, 'the end of a connection without a pulse');
    await go();
    await link.close();
  });

  it('GL-8: reports the end of the guest at once', async () => {
    await using guest = await startGuest();
    const link = await guest.open();
    const sleeper = await ProcessStream.start(link, guestCommand('sleeper', { argv: ['sleep', '100'] }));
    guest.child.kill('SIGKILL');
    const reading = (async () => {
      for await (const _ of sleeper);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'sandbox_gone' });
    await expect(link.session()).rejects.toMatchObject({ code: 'sandbox_gone' });
    // Without walls around the guest, its processes outlive it.
    kill(sleeper.pid, 'SIGKILL');
  });
});
