import { parentPort, workerData } from 'node:worker_threads';
import { convert } from 'html-to-text';
import { extractText, getDocumentProxy } from 'unpdf';
import { reasonOf } from '../../core/errors.ts';
import type { Extraction, ExtractionWork } from './extract.ts';

async function extract(work: ExtractionWork): Promise<Extraction> {
  try {
    if ('html' in work) return { text: textOfHtml(work.html) };
    const document = await getDocumentProxy(work.pdf, { verbosity: 0 });
    return { text: (await extractText(document, { mergePages: true })).text };
  } catch (thrown) {
    return { failure: reasonOf(thrown) };
  }
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
  });
}

parentPort?.postMessage(await extract(workerData));
