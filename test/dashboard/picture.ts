import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/** `npm run pictures` makes those of the documents anew; other runs leave them alone. */
const folder = new URL(
  process.env.GEODE_PICTURES === 'docs' ? '../../docs/pictures/' : '../../.screenshots/',
  import.meta.url,
);

export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: fileURLToPath(new URL(`${name}.png`, folder)) });
}
