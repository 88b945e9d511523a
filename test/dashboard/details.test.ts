/** Features of each page besides its main path. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { eventually } from '../contracts/harness.ts';
import { dropFile } from './drop-file.ts';
import { describeDashboard } from './scene.ts';
import { waitMs } from './world.ts';

/** One red pixel. */
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

const solution = {
  language: 'python',
  code: 'def double(n): return 2 * n',
  files: [],
  checks: '',
  needs: '',
};

describeDashboard(
  "UI-2: the dashboard's details in Chromium",
  { answer: () => ({ text: JSON.stringify(solution) }) },
  (scene) => {
    const { go, field, button } = scene;

    /** The size of a picture that was really drawn. */
    const widthOf = async (selector: string) => {
      const { page } = scene;
      await page.locator(selector).waitFor();
      const image = `document.querySelector(${JSON.stringify(selector)})`;
      return page.evaluate(`${image}.decode().then(() => ${image}.naturalWidth)`);
    };

    test('a notebook: cells share their variables and show tables, pictures, Markdown and errors', async () => {
      const { page, world } = scene;
      await go('code/notebooks');
      await field('In this sandbox (may be empty: a fresh one)').fill('demo');
      await button('New notebook').click();
      const cell = page.getByRole('textbox', { name: 'Cell' });
      const run = async (lines: string) => {
        await cell.click();
        await page.keyboard.insertText(lines);
        await page.getByRole('button', { name: /^Run/ }).click();
      };
      await run('rows = [{"city": "Oslo", "people": 717710}, {"city": "Rome", "people": 2755309}]\nrows');
      await page.getByRole('cell', { name: '2755309' }).waitFor();
      await run(
        `class Dot:\n    def _repr_png_(self):\n        import base64\n        return base64.b64decode("${pixel}")\nDot()`,
      );
      expect(await widthOf('section[aria-label="Cell 2"] img')).toBe(1);
      await run(
        'class Note:\n    def _repr_markdown_(self):\n        return "**" + rows[0]["city"] + "** <b id=evil>x</b>"\nNote()',
      );
      await page.locator('strong', { hasText: 'Oslo' }).waitFor();
      expect(await page.locator('#evil').count()).toBe(0);
      await run('rows[7]');
      await page
        .getByText(/IndexError/)
        .first()
        .waitFor();
      // The output stays with the interpreter: after a reload, and in another browser.
      await page.reload();
      await page.getByRole('cell', { name: '2755309' }).waitFor();
      expect(await widthOf('section[aria-label="Cell 2"] img')).toBe(1);
      const other = await world.open();
      await other.goto(page.url());
      await other
        .getByText(/IndexError/)
        .first()
        .waitFor();
      await cell.click();
      await page.keyboard.insertText('len(rows) * 1000 + 1');
      await page.keyboard.press('Shift+Enter');
      await other.getByText('2001').first().waitFor();
      await other.context().close();
      await button('Close').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();
      await page.getByText('No notebooks yet').waitFor();
    });

    test('runs: figures of plt.show() and other pictures are shown', async ({ skip }) => {
      const { page, world } = scene;
      const found = await world.client.runs.run('import matplotlib', 'python');
      skip(!found.success, 'matplotlib is not installed here');
      await go('code/runs');
      await page.getByRole('textbox', { name: 'Code' }).click();
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(
        `import base64, matplotlib.pyplot as plt
open("dot.png", "wb").write(base64.b64decode("${pixel}"))
for height in (1, 2):
    plt.plot([1, 2, height])
    plt.show()`,
      );
      await page.getByText('Files and limits').click();
      await field('Files to bring back, such as *.csv').fill('dot.png');
      await page.getByRole('button', { name: /^Run/ }).click();
      expect(await widthOf('img[alt="geode-figure-001.png"]')).toBeGreaterThan(100);
      expect(await widthOf('img[alt="geode-figure-002.png"]')).toBeGreaterThan(100);
      expect(await widthOf('img[alt="dot.png"]')).toBe(1);
    });

    test('files: dropped, Markdown and pictures shown, compared with a snapshot in the editor', async () => {
      const { page, world } = scene;
      const { files, snapshots } = world.client.sandboxes.of('demo');
      await go('sandboxes/demo/files');
      await page.getByText('The workspace is empty').waitFor();
      await dropFile(page, 'text=The workspace is empty', 'read.md', '# A title\n\n- [x] one *thing*\n');
      await page
        .getByRole('link', { name: /read\.md/ })
        .first()
        .click();
      await button('Preview').click();
      await page.getByRole('heading', { name: 'A title' }).waitFor();
      await page.locator('em', { hasText: 'thing' }).waitFor();
      await snapshots.take({ name: 'first' });
      await files.write('dot.png', Buffer.from(pixel, 'base64'));
      await go('sandboxes/demo/files/dot.png');
      expect(await widthOf('img[alt="dot.png"]')).toBe(1);
      await files.write('read.md', '# Another title\n');
      await go('sandboxes/demo/files/read.md');
      await field('Compare with a snapshot').selectOption('first');
      await page.getByText('+# Another title').waitFor();
      await page.getByText('-# A title').waitFor();
      await page.getByRole('textbox', { name: 'Editor' }).click();
      await page.keyboard.press('Control+End');
      await page.keyboard.type('by keyboard');
      await page.keyboard.press('Control+s');
      await page.getByText('Saved', { exact: true }).waitFor();
      expect(await files.readText('read.md')).toBe('# Another title\nby keyboard');
    });

    test('journals: a search result and a time jump to their place; the whole journal can be downloaded', async () => {
      const { page, world } = scene;
      const sandbox = world.client.sandboxes.of('demo');
      const { id } = await sandbox.spawn({ argv: ['seq', '-f', 'line %.0f', '30000'] });
      await go(`sandboxes/demo/processes/${id}`);
      const output = page.getByRole('group', { name: 'Output' });
      await output.getByText('line 30000', { exact: true }).waitFor();
      await field('Find in the output').fill('line 12345');
      await page.getByText('1 lines found').waitFor();
      await page.getByRole('listitem').filter({ hasText: 'line 12345' }).getByRole('button').click();
      await output.getByText('line 12345', { exact: true }).waitFor();
      await output.getByText('line 12346', { exact: true }).waitFor();
      await button('Follow the end').click();
      await output.getByText('line 30000', { exact: true }).waitFor();
      await field('Jump to a time').fill('2020-01-01T00:00:00');
      await output.getByText('line 1', { exact: true }).waitFor();
      const [download] = await Promise.all([page.waitForEvent('download'), button('Download').click()]);
      const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
      expect([lines.length, lines.at(-1)]).toEqual([30_000, 'line 30000']);
    });

    test('egress: switches the modes ask and learn, and removes a permission', async () => {
      const { page, world } = scene;
      const sandbox = world.client.sandboxes.of('demo');
      await go('sandboxes/demo/egress');
      await page.getByRole('radio', { name: 'Waits for me' }).click();
      await eventually(async () => (await sandbox.egress.get()).policy.mode === 'ask', 'asking', waitMs);
      const ask = 'import urllib.request\nurllib.request.urlopen("http://asked.invalid/", timeout=200)';
      const asking = sandbox.exec({ argv: ['python3', '-c', ask], timeoutMs: null });
      await go('');
      await page.getByRole('link', { name: /asked\.invalid/ }).click();
      await button('Always').click();
      expect((await asking).exitCode).not.toBe(0);
      await go('settings/egress');
      const granted = page.getByRole('listitem').filter({ hasText: 'asked.invalid:80' });
      await granted.getByText('for all sandboxes').waitFor();
      await granted.getByRole('button', { name: 'Take back' }).click();
      await granted.getByText('for all sandboxes').waitFor({ state: 'detached' });
      await go('sandboxes/demo/egress');
      // A click on the radio button that is shown as chosen changes nothing.
      await page.getByRole('radio', { name: 'Waits for me', checked: true }).waitFor();
      await page.getByRole('radio', { name: 'Is blocked' }).click();
      await eventually(async () => (await sandbox.egress.get()).policy.mode !== 'ask', 'blocking', waitMs);
      await button('Begin to learn').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Begin to learn' }).click();
      await button('End, and allow what it used').click();
      await button('Begin to learn').waitFor();
      expect((await sandbox.egress.get()).policy.mode).not.toBe('learn');
    });

    test('crystals: verifies and corrects a crystal, and shows its history', async () => {
      const { page, world } = scene;
      for await (const _ of world.client.solves.solve({
        problem: 'write double(n), twice the number',
        tests: 'assert double(3) == 6\n',
      }));
      await go('knowledge/crystals');
      await button('Verify').click();
      await page.getByRole('status').filter({ hasText: 'passed' }).waitFor();
      await page.getByRole('listitem').filter({ hasText: 'trusted' }).getByRole('group').click();
      await page.getByText(/verified by/).waitFor();
      await field('Its code').fill('def double(n): return n + n');
      await button('Save').click();
      await eventually(
        async () => (await world.client.solves.crystals())[0]?.solution === 'def double(n): return n + n',
        'the corrected crystal',
        waitMs,
      );
    });

    test('memory: imports dropped files, and shows the number of entries', async () => {
      const { page } = scene;
      await go('knowledge/memory');
      await dropFile(page, 'text=Drop files here, or choose them.', 'deploy.md', 'Deploys run on Mondays.');
      await page.getByText(/Imported: .*deploy/).waitFor();
      await page.getByText(/sqlite: [1-9]\d* entries/).waitFor();
      await page.getByText(/project: 1/).waitFor();
    });

    test('memory: an audit shows each finding with its evidence and the command that mends it', async () => {
      const { page, world } = scene;
      const past = { valid_until: '2020-01-01T00:00:00Z', category: 'project', source: 'test' };
      await world.client.ingest({ id: 'audited/old', content: 'The trial ends in December.', ...past });
      await go('knowledge/memory/audited%2Fold');
      await page.getByText('Recalled 0×, helped 0, hurt 0').waitFor();
      await page.getByRole('button', { name: 'Check the memory' }).click();
      const stale = page.getByRole('region', { name: 'Stale' });
      await stale.getByRole('link', { name: 'audited/old' }).waitFor();
      await stale.getByText(/2020-01-01/).waitFor();
      await stale.getByText(/^geode memory rm .*audited\/old/).waitFor();
      expect((await world.client.get('audited/old')).content).toBe('The trial ends in December.');
    });

    test('runs: files go in and come back, within a limit', async () => {
      const { page } = scene;
      await go('code/runs');
      const editor = page.getByRole('textbox', { name: 'Code' });
      await editor.click();
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText('open("out.txt", "w").write(open("in.txt").read().upper())');
      await page.getByText('Files and limits').click();
      await field('Memory in MiB (may be empty)').fill('128');
      await field('Files to bring back, such as *.csv').fill('*.txt');
      await field('Files for the code').setInputFiles({
        name: 'in.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('shout'),
      });
      await page.getByRole('button', { name: /^Run/ }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'out.txt' }).click(),
      ]);
      expect(await readFile(await download.path(), 'utf8')).toBe('SHOUT');
    });
  },
);
