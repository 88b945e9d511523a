import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Ledger } from '../../src/ledger/ledger.ts';
import { RunRecorder } from '../../src/runs/history/run-recorder.ts';
import { RunTable, runChapter } from '../../src/runs/history/run-table.ts';
import type { RunEvent } from '../../src/seams/run.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const exit = { exitCode: 3, signal: null, timedOut: false, oomKilled: false, durationMs: 5 };

function recorded(id: string, events: readonly RunEvent[], code = 'print(1)') {
  const recorder = new RunRecorder(code, ['hunter2-hunter2']);
  const sandbox = { id, runtime: 'native', grade: 'none', warm: false } as const;
  recorder.add({ type: 'sandbox-ready', language: 'python', sandbox, image: null });
  for (const event of events) recorder.add(event);
  const record = recorder.record();
  if (record === undefined) throw new Error('There is no record');
  return record;
}

describe('stored runs', () => {
  it('keep the beginning of their output, in order and without secrets', () => {
    const bytes = (text: string) => Buffer.from(text);
    const record = recorded(
      'a',
      [
        { type: 'stdout', bytes: bytes('one hunter2-') },
        { type: 'stdout', bytes: bytes('hunter2 two\n') },
        { type: 'stderr', bytes: bytes('x'.repeat(100_000)) },
        { type: 'exit', ...exit },
        { type: 'artifact', path: 'out.csv', bytes: bytes('not kept') },
      ],
      'key = "hunter2-hunter2"',
    );
    expect(record).toMatchObject({ outcome: 'failed', exitCode: 3, artifacts: ['out.csv'] });
    expect(record.code).toBe('key = "[redacted]"');
    expect(record.output[0]).toEqual({ stream: 'stdout', text: 'one [redacted] two\n' });
    const kept = 64 * 1024 - 'one hunter2-hunter2 two\n'.length;
    expect(record.output.slice(1)).toEqual([{ stream: 'stderr', text: 'x'.repeat(kept) }]);
    expect(record.droppedBytes).toBe(100_000 - kept);
    expect(recorded('b', [])).toMatchObject({ outcome: 'stopped', exitCode: null, output: [] });
  });

  it('are visible to their user only, and the oldest are removed above the limit', () => {
    using folder = temporaryFolder();
    using ledger = new Ledger(join(folder.path, 'ledger.db'), [runChapter]);
    const table = new RunTable(ledger, 10);
    for (let at = 0; at < 128; at += 1)
      table.add(at % 2 === 0 ? 'alice' : 'bob', { ...recorded(`run-${at}`, []), at });
    expect(table.list('alice').map(({ id }) => id)).toEqual(
      [126, 124, 122, 120, 118].map((at) => `run-${at}`),
    );
    expect(table.list('alice', { before: 122, limit: 1 }).map(({ id }) => id)).toEqual(['run-120']);
    expect(table.get('bob', 'run-127').id).toBe('run-127');
    expect(() => table.get('alice', 'run-127')).toThrow(expect.objectContaining({ code: 'run_not_found' }));
    const none = new RunTable(ledger, 0);
    none.add('carol', recorded('c', []));
    expect(none.list('carol')).toEqual([]);
  });
});
