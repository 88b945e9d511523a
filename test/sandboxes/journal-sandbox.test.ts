import { expect, it } from 'vitest';
import { journalFiles } from '../../src/journals/journal-files.ts';
import { journalReading } from '../../src/journals/journal-reading.ts';
import { redacted } from '../../src/journals/redacted.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { Journals } from '../../src/seams/journal.ts';
import { testOptions } from '../contracts/harness.ts';
import { eachOf } from '../each-of.ts';

it('PROC-2: the journals of a sandbox list its commands and output, without secrets, live and after its end', async () => {
  await using options = await testOptions({});
  const opened: { folder: string; journals: Journals }[] = [];
  const journals = (folder: string) => {
    opened.push({ folder, journals: journalFiles(folder) });
    return opened.at(-1)?.journals ?? journalFiles(folder);
  };
  const key = `sk-ant-${'x1'.repeat(20)}`;
  await using sandbox = await nativeRuntime({ ...options, journals }).open({});
  const [place] = opened;
  if (place === undefined) throw new Error('The sandbox has no journals.');
  await sandbox.exec({ argv: ['/bin/sh', '-c', `echo key ${key}; echo oops >&2; exit 4`] });

  const process = await sandbox.spawn({
    argv: ['/bin/sh', '-c', 'read a; echo "got $a"; read b; echo "got $b"'],
    interactive: true,
  });
  const pump = (async () => {
    for await (const _ of process);
  })();
  let heard = '';
  await process.write('one\n');
  for await (const event of redacted(place.journals.open(process.id).follow(0), ['two-two-two'])) {
    if ('bytes' in event) heard += Buffer.from(event.bytes).toString();
    if (heard === 'got one\n') await process.write('two-two-two\n');
  }
  await pump;
  expect(heard).toBe('got one\ngot [redacted]\n');

  await sandbox.release();
  const reading = journalReading(place.folder);
  const list = reading.list();
  expect(list).toMatchObject([
    { processId: process.id, exit: { exitCode: 0 }, bytes: 24 },
    {
      facts: { argv: ['/bin/sh', '-c', 'echo key [redacted]; echo oops >&2; exit 4'] },
      exit: { exitCode: 4 },
    },
  ]);
  const first = list.at(-1)?.processId ?? '';
  const lines = await reading.tail(first, 10);
  expect(lines.map(({ stream, text }) => `${stream} ${text}`).sort()).toEqual([
    'stderr oops',
    'stdout key [redacted]',
  ]);
  for (const { at } of eachOf(lines))
    expect(at).toBeGreaterThanOrEqual(list.at(-1)?.facts?.startedAt ?? Infinity);
});
