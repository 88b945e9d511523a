import { mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { journalFiles } from '../../src/journals/journal-files.ts';
import { listJournals } from '../../src/journals/journal-list.ts';
import { keepJournalQuota } from '../../src/journals/journal-quota.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const exit = { exitCode: 0, signal: null, timedOut: false, oomKilled: false, durationMs: 1 };

it('finished journals count against the quota of their user; removes the oldest, and none of a running process', () => {
  using folder = temporaryFolder();
  const folderOf = (id: string) => join(folder.path, id);
  let now = Date.UTC(2026, 0, 1);
  const write = (sandbox: string, process: string, end: 'ended' | 'running') => {
    mkdirSync(folderOf(sandbox), { recursive: true });
    const journals = journalFiles(folderOf(sandbox));
    const file = journals.open(process);
    file.append('stdout', Buffer.alloc(10_000, 'x'), 0);
    if (end === 'ended') file.finish(exit);
    journals.close();
    now += 1_000;
    utimesSync(join(folderOf(sandbox), `${process}.journal`), now / 1000, now / 1000);
  };
  write('a', 'one', 'ended');
  write('b', 'two', 'ended');
  write('a', 'three', 'running');
  write('b', 'four', 'ended');
  write('c', 'other', 'ended');
  const sandboxes = [
    { id: 'a', user: 'ann' },
    { id: 'b', user: 'ann' },
    { id: 'c', user: 'bob' },
    { id: 'none', user: 'bob' },
  ];
  const left = () =>
    ['a', 'b', 'c'].flatMap((id) => listJournals(folderOf(id)).map(({ processId }) => processId)).sort();
  keepJournalQuota(sandboxes, { bytesOfUser: 1_000_000, folderOf });
  expect(left()).toEqual(['four', 'one', 'other', 'three', 'two']);
  keepJournalQuota(sandboxes, { bytesOfUser: 25_000, folderOf });
  expect(left()).toEqual(['four', 'other', 'three', 'two']);
  keepJournalQuota(sandboxes, { bytesOfUser: 0, folderOf });
  expect(left()).toEqual(['three']);
});
