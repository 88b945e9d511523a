import { mkdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { launchChromium, reasonForNoChromium } from './chromium.ts';
import { startTestServer } from './server-fixture.ts';

const missing = await reasonForNoChromium();
const screenshots = new URL('../../.screenshots/', import.meta.url);

test.skipIf(missing)(
  `API-1: the reference page works in Chromium and asks no other server${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 300_000 },
  async () => {
    await using server = await startTestServer();
    await using browser = await launchChromium();
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'dark' });
    page.setDefaultTimeout(90_000);
    const foreign: string[] = [];
    const problems: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith('data:'))
        foreign.push(request.url());
    });
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (thrown) => problems.push(thrown.message));

    await page.goto(`${server.url}/reference`);
    await page.getByText('/api/v1/context/search').first().waitFor();
    expect(await page.title()).toBe('Geode API');
    await mkdir(screenshots, { recursive: true });
    await page.screenshot({ path: new URL('reference.png', screenshots).pathname, fullPage: true });

    await page.getByRole('button', { name: 'Authorize' }).first().click();
    await page.getByLabel('auth-bearer-value').fill(server.key('alice'));
    await page.getByRole('button', { name: 'Apply credentials' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByText('/api/v1/context/categories').click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table').getByText('"conversation"').waitFor();
    await page.locator('.live-responses-table').scrollIntoViewIfNeeded();
    await page.screenshot({ path: new URL('reference-answer.png', screenshots).pathname });

    expect(foreign).toEqual([]);
    expect(problems).toEqual([]);
  },
);
