import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const scratch = new URL('../../.screenshots/', import.meta.url);
/** `npm run pictures` takes the pictures of the documents again; other runs leave them alone. */
const documents =
  process.env.GEODE_PICTURES === 'docs' ? new URL('../../docs/pictures/', import.meta.url) : scratch;

export function picture(page: Page, name: string): Promise<Buffer> {
  return take(page, name, documents);
}

/** A screenshot of a failed test. */
export function evidence(page: Page, name: string): Promise<Buffer> {
  return take(page, `failed-${name}`, scratch);
}

/** A picture for a reviewer of every page. */
export function reviewPicture(page: Page, name: string): Promise<Buffer> {
  return take(page, name, new URL('all/', scratch));
}

async function take(page: Page, name: string, folder: URL): Promise<Buffer> {
  await mkdir(folder, { recursive: true });
  return await page.screenshot({ path: fileURLToPath(new URL(`${name}.png`, folder)) });
}
