import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../src/ledger/ledger.ts';
import { lockHost } from '../../src/machine/host-lock.ts';
import { fixture } from '../contracts/harness.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'geode-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const first = { name: 'things', changes: ['CREATE TABLE things (name TEXT) STRICT'] };
const second = {
  ...first,
  changes: [...first.changes, 'ALTER TABLE things ADD COLUMN age INTEGER DEFAULT 7'],
};

describe('the ledger', () => {
  it('API-3: migrates its tables once, and keeps their rows', () => {
    const file = join(folder, 'deep', 'ledger.db');
    {
      using ledger = new Ledger(file, [first]);
      ledger.write((sql) => sql.run`INSERT INTO things (name) VALUES (${"it's"})`);
    }
    expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const _ of [1, 2]) {
      using ledger = new Ledger(file, [second]);
      expect(ledger.read((sql) => sql.all`SELECT * FROM things`)).toMatchObject([{ name: "it's", age: 7 }]);
    }
  });

  it('merges its write-ahead log into the file when it is closed', () => {
    const file = join(folder, 'ledger.db');
    const ledger = new Ledger(file, [first]);
    ledger.write((sql) => sql.run`INSERT INTO things (name) VALUES ('one')`);
    expect(readdirSync(folder)).toContain('ledger.db-wal');
    ledger[Symbol.dispose]();
    expect(readdirSync(folder)).toEqual(['ledger.db']);
  });

  it('refuses a file of a newer version, and a file that is not a ledger, and leaves them as they are', () => {
    const file = join(folder, 'ledger.db');
    new Ledger(file, [second])[Symbol.dispose]();
    expect(() => new Ledger(file, [first])).toThrow(expect.objectContaining({ code: 'ledger_failed' }));
    new Ledger(file, [second])[Symbol.dispose]();
    const other = join(folder, 'other.db');
    writeFileSync(other, 'something else, '.repeat(1000));
    const before = statSync(other).size;
    expect(() => new Ledger(other, [first])).toThrow(expect.objectContaining({ code: 'ledger_failed' }));
    expect(statSync(other).size).toBe(before);
  });

  it('a migration that fails half-way keeps the earlier version', () => {
    const file = join(folder, 'ledger.db');
    new Ledger(file, [first])[Symbol.dispose]();
    const broken = { ...first, changes: [...first.changes, 'CREATE TABLE more (x TEXT) STRICT; NONSENSE'] };
    expect(() => new Ledger(file, [broken])).toThrow(expect.objectContaining({ code: 'ledger_failed' }));
    using ledger = new Ledger(file, [second]);
    expect(ledger.read((sql) => sql.all`SELECT name FROM sqlite_master WHERE name = 'more'`)).toEqual([]);
  });

  it('a write that throws changes nothing', () => {
    using ledger = new Ledger(join(folder, 'ledger.db'), [first]);
    expect(() =>
      ledger.write((sql) => {
        sql.run`INSERT INTO things VALUES ('x')`;
        throw new Error('no');
      }),
    ).toThrow();
    expect(ledger.read((sql) => sql.all`SELECT * FROM things`)).toEqual([]);
  });
});

describe('one host for a ledger', () => {
  const holder = async (...words: readonly string[]) => {
    const child = spawn(process.execPath, [fixture('lock-holder.ts'), folder, ...words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(child, 'exit');
    await once(child.stdout, 'data');
    return { child, exited };
  };

  it('SBX-6: the lock ends with its process, also after a kill', async () => {
    const { child, exited } = await holder();
    await expect(lockHost(folder)).rejects.toMatchObject({
      code: 'ledger_held',
      details: { pid: child.pid },
    });
    child.kill('SIGKILL');
    await exited;
    using _lock = await lockHost(folder);
    await expect(lockHost(folder)).rejects.toMatchObject({
      code: 'ledger_held',
      details: { pid: process.pid },
    });
  });

  it.each([[], ['stubborn']])('SBX-6: taking over ends the other host (%s)', async (...words) => {
    const { exited } = await holder(...words);
    using _lock = await lockHost(folder, { takeOver: true });
    const [, signal] = await exited;
    expect(signal).toBe(words.length === 0 ? 'SIGTERM' : 'SIGKILL');
  });

  it('waits for the given time, and can be cancelled', async () => {
    const { child, exited } = await holder();
    const waiting = lockHost(folder, { waitMs: 30_000 });
    const stop = AbortSignal.timeout(50);
    await expect(lockHost(folder, { waitMs: 30_000, signal: stop })).rejects.toMatchObject({
      code: 'cancelled',
    });
    child.kill('SIGKILL');
    await exited;
    (await waiting)[Symbol.dispose]();
  });
});
