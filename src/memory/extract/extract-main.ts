/**
 * The process that reads one file: `node extract-main.ts pdf|html <maximum memory in bytes>`, with the file on stdin.
 */
import { buffer } from 'node:stream/consumers';
import { Worker } from 'node:worker_threads';
import { convert } from 'html-to-text';
import { getDocumentProxy } from 'unpdf';
import { reasonOf } from '../../base/errors.ts';
import { memoryLimits } from '../../seams/memory.ts';
import type { Extraction } from './extract-process.ts';
import { refuseBombs } from './refuse-bombs.ts';

const [kind, memoryBytes] = process.argv.slice(2);
new Worker(new URL('./watch-memory.ts', import.meta.url), { workerData: Number(memoryBytes) }).unref();
const extraction = await extract(await buffer(process.stdin));
process.stdout.write(JSON.stringify(extraction), () => process.exit());

async function extract(file: Buffer): Promise<Extraction> {
  try {
    return { text: kind === 'pdf' ? await textOfPdf(file) : textOfHtml(file.toString()) };
  } catch (thrown) {
    return { failure: reasonOf(thrown) };
  }
}

/** Reads pages until there is more text than an entry may have: the rest would be refused anyway. */
async function textOfPdf(file: Buffer): Promise<string> {
  refuseBombs(file);
  const document = await getDocumentProxy(new Uint8Array(file), { verbosity: 0 });
  const pages: string[] = [];
  let length = 0;
  for (let number = 1; number <= document.numPages && length <= memoryLimits.contentLength; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('');
    pages.push(text);
    length += text.length;
    page.cleanup();
  }
  return tidy(pages.join('\n')).slice(0, memoryLimits.contentLength + 1);
}

/** Keeps lines; joins white space within lines and empty lines between them. */
function tidy(text: string): string {
  return text
    .replace(/[^\S\n]+/g, ' ')
    .replace(/(?: ?\n ?){3,}/g, '\n\n')
    .replace(/ ?\n ?/g, '\n');
}

function textOfHtml(html: string): string {
  return convert(html, {
    wordwrap: false,
    limits: { maxInputLength: html.length },
    selectors: [
      { selector: 'img', format: 'skip' },
      { selector: 'a', options: { ignoreHref: true } },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
        selector,
        options: { uppercase: false },
      })),
      { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false } },
    ],
  }).slice(0, memoryLimits.contentLength + 1);
}
