import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSite, llmsText, sitePages } from '../../scripts/build-site.ts';
import { eventually } from '../contracts/harness.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';
import { launchChromium, reasonForNoChromium } from './chromium.ts';
import { startTestServer, type TestServer } from './server-fixture.ts';

const missing = await reasonForNoChromium();

describe('the documentation', { timeout: 360_000 }, () => {
  let folder: TemporaryFolder;
  let server: TestServer;
  beforeAll(async () => {
    folder = temporaryFolder();
    // The build fails at dead links.
    const siteFolder = await buildSite(join(folder.path, 'site'));
    server = await startTestServer({ parts: { siteFolder } });
  }, 240_000);
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    folder?.[Symbol.dispose]();
  });

  it('is served under /docs; each page has a URL with and without .html', async () => {
    for (const [path, words] of [
      ['/docs', 'Give an AI agent a computer'],
      ['/docs/', 'Give an AI agent a computer'],
      ['/docs/configuration', 'GEODE_SANDBOX_MEMORY'],
      ['/docs/guides/team.html', 'A box for a team'],
      ['/docs/decisions/', 'Decisions'],
      ['/docs/egress.md', '# Egress'],
      ['/docs/SKILL.md', 'name: geode'],
      ['/docs/examples/for-e2b.py', 'Sandbox'],
    ] as const) {
      const answer = await fetch(server.url + path);
      expect(answer.status, path).toBe(200);
      expect(await answer.text(), path).toContain(words);
    }
    for (const path of ['/docs/nothing', '/docs/../package.json', '/docs/.vite/packages.json'])
      expect((await fetch(server.url + path)).status, path).toBe(404);
  });

  it('has a list for language models with working links', async () => {
    const text = await (await fetch(`${server.url}/llms.txt`)).text();
    expect(text).toBe(llmsText(sitePages()));
    const links = [...text.matchAll(/\]\((\/docs\/[^)]+)\)/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(30);
    for (const link of links) expect((await fetch(server.url + link)).status, link).toBe(200);
  });

  it.skipIf(missing !== null)(
    `works in Chromium: search finds a setting, and no other server is asked${missing ? ` (skipped: ${missing})` : ''}`,
    async () => {
      await using browser = await launchChromium();
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
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
      await page.goto(`${server.url}/docs/`);
      await page.getByRole('link', { name: 'The first five minutes' }).first().click();
      await page.getByRole('heading', { name: 'The first five minutes' }).waitFor();
      // The page is there before its script listens to keys.
      const searchbox = page.getByRole('searchbox');
      await eventually(async () => {
        await page.keyboard.press('Control+k');
        return searchbox.isVisible();
      }, 'the search');
      await searchbox.fill('idle_timeout');
      await page.locator('.VPLocalSearchBox .result').first().waitFor();
      expect(foreign).toEqual([]);
      expect(problems).toEqual([]);
    },
  );
});

it('every page has a title and a description', async () => {
  const pages = sitePages();
  expect(pages.length).toBeGreaterThan(40);
  for (const { path, title, summary } of pages) {
    expect(title, path).not.toBe('');
    expect(summary, path).not.toBe('');
  }
});
