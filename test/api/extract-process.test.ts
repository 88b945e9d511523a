import { readdirSync, readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { extractText } from '../../src/memory/extract/extract.ts';
import { extractInProcess, extractLimits } from '../../src/memory/extract/extract-process.ts';
import { bombPdf, pdfOf } from './pdf.ts';

const inflatedBytes = 2 ** 30;
/** Deflated twice: about two kilobytes. */
const nested = deflateSync(deflateSync(Buffer.alloc(inflatedBytes, ' '), { level: 9 }), { level: 9 });

test('a PDF that inflates without end is refused, and costs this process less than 100 MB', async () => {
  const bytes = bombPdf(nested, '/Filter [/FlateDecode /FlateDecode]');
  expect(bytes.length).toBeLessThan(20_000);
  const peak = await peakOf(async () => {
    await expect(extractText({ name: 'bomb.pdf', bytes })).rejects.toMatchObject({
      code: 'unreadable_file',
      message: expect.stringContaining('expands to more than 64 MB'),
    });
  });
  expect(peak).toBeLessThan(100e6);
  await expectNoParser();
});

test('the memory limit ends a PDF whose bomb the check did not find', async () => {
  const bytes = bombPdf(nested, '/Subtype /Image /Filter [/FlateDecode /FlateDecode]');
  const peak = await peakOf(async () => {
    expect(await extractInProcess({ kind: 'pdf', bytes }, {})).toEqual({
      failure: 'reading it takes more than 512 MB of memory',
    });
  });
  expect(peak).toBeLessThan(100e6);
  await expectNoParser();
});

test('kills a parser at its deadline and when its caller disconnects', async () => {
  const html = Buffer.from(`${'<div>'.repeat(200_000)}bottom`);
  const late = { ...extractLimits, timeoutMs: 1 };
  expect(await extractInProcess({ kind: 'html', bytes: html }, {}, late)).toEqual({
    failure: 'reading it takes too long',
  });
  const caller = new AbortController();
  const reading = extractText({ name: 'deep.html', bytes: new Uint8Array(html) }, { signal: caller.signal });
  await vi.waitFor(() => expect(parsers()).toHaveLength(1), { timeout: 90_000, interval: 10 });
  caller.abort();
  await expect(reading).rejects.toMatchObject({ code: 'cancelled' });
  await expectNoParser();
});

test('reads two valid files at a time, and queues the others', async () => {
  let most = 0;
  const watching = setInterval(() => {
    most = Math.max(most, parsers().length);
  }, 5);
  onTestFinished(() => clearInterval(watching));
  const names = ['one', 'two', 'three', 'four'];
  const texts = await Promise.all(
    names.map((name) => extractText({ name: `${name}.pdf`, bytes: pdfOf(`Figures of ${name}`) })),
  );
  expect(texts).toEqual(names.map((name) => `Figures of ${name}`));
  expect(most).toBe(2);
  await expectNoParser();
});

/** The most that this process grew by while it worked. */
async function peakOf(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(watching);
  }
  return most - before;
}

/** The processes that read a file for this one. */
function parsers(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const [, after = ''] = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ');
        return (
          after.split(' ')[1] === String(process.pid) &&
          readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('extract-main.ts')
        );
      } catch {
        // It has exited in the meantime.
        return false;
      }
    })
    .map(Number);
}

async function expectNoParser(): Promise<void> {
  await vi.waitFor(() => expect(parsers()).toEqual([]), { timeout: 90_000 });
}
