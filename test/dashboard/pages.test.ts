import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Reply } from '../fixtures/model-server/model-server.ts';
import { describeDashboard } from './scene.ts';
import { waitMs } from './world.ts';

/** The model answers nothing while this is so. */
let isBusy = true;
let isWrong = true;
const never = new Promise(() => {});

/** The first solution squares, the second doubles. */
function answer({ prompt }: { readonly prompt: string }): Reply {
  if (prompt.includes('Use the evidence'))
    return { text: JSON.stringify({ analysis: 'a', cause: 'It squares.', change: 'Double it.' }) };
  if (prompt.includes('take your time'))
    return isBusy ? { text: '', hold: never } : { text: 'Now it is **done**.' };
  if (!prompt.includes('double')) return { text: 'The agent says hello.' };
  const code = isWrong ? 'def double(n): return n * n' : 'def double(n): return 2 * n';
  isWrong = false;
  return { text: JSON.stringify({ language: 'python', code, files: [], checks: '', needs: '' }) };
}

describeDashboard('UI-1: the pages of the dashboard, in Chromium', { answer }, (scene) => {
  const { go, field, heading } = scene;

  test('runs: code in an editor, its output as it comes, its exit code', async () => {
    const { page } = scene;
    await go('runs');
    await field('Input (stdin)').fill('typed');
    const editor = page.getByRole('textbox', { name: 'Code' });
    await editor.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('print("six times", 6 * 7, input())');
    await page.keyboard.press('Control+Enter');
    await page.getByText('six times 42 typed').waitFor();
    await page.getByText(/exit code 0/).waitFor();
    // It is among those that are over, with its output, for every browser and after a reload.
    await page.reload();
    await page.getByRole('link', { name: /six times/ }).click();
    const past = page.getByRole('dialog');
    await past.getByRole('region', { name: 'Output' }).getByText('six times 42 typed').waitFor();
    await past.getByText('exit code 0').waitFor();
    const address = page.url();
    await past.getByRole('button', { name: 'Put it into the editor' }).click();
    await past.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('textbox', { name: 'Code' }).textContent()).toContain('six times');
    await page.goto(address);
    await past.getByText('six times 42 typed').waitFor();
    await page.keyboard.press('Escape');
    await past.waitFor({ state: 'detached' });
  });

  test('memory: added, found with the reason, changed with its versions kept, forgotten', async () => {
    const { page, world } = scene;
    await go('memory');
    await page.getByText('Memory is empty').waitFor();
    await field('Id (may be empty)').fill('notes/deploy');
    await field('Content').fill('Deploys run from the release branch');
    await page.getByRole('button', { name: 'Add an entry' }).click();
    await page.getByRole('heading', { name: 'notes/deploy' }).waitFor();
    await field('Search by meaning and by word').fill('deploys release');
    await page.getByText(/Why it is here:.*releas/).waitFor();
    await field('Content').first().fill('Deploys run on Fridays');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Earlier versions (1)').waitFor();
    await page.getByRole('button', { name: 'Forget' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'notes/deploy' }).waitFor({ state: 'detached' });
    expect((await world.client.list()).total).toBe(0);
  });

  test('SLV-3: solve: attempts as they happen, each with its verdict, and the crystal that is left', async () => {
    const { page } = scene;
    await go('solve');
    await field('Problem').first().fill('write double(n), twice the number');
    await field('Tests (may be empty)').fill('assert double(3) == 6\n');
    await page.getByRole('button', { name: 'Solve', exact: true }).click();
    await page
      .getByText(/It did not pass the tests/)
      .first()
      .waitFor();
    await page
      .getByText(/It squares/)
      .first()
      .waitFor();
    await page
      .getByText(/It passed the tests/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Unpin' }).waitFor();
  });

  test('agents: a message is answered before the eyes of the one who wrote it', async () => {
    const { page } = scene;
    await go('agents');
    await field('Chat, whose sandbox the agent works in').fill('demo');
    await field('Message').fill('hello there');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('The agent says hello.').first().waitFor();
  });

  test('chats: written to, stopped, asked again, scheduled, exported with every step', async () => {
    const { page } = scene;
    await go('chats');
    await page.getByText('connected', { exact: true }).waitFor();
    await field('Name of the chat').fill('talk');
    await field('First message').fill('take your time');
    await field('First message').press('Shift+Enter');
    await page.keyboard.type('and rest');
    await page.keyboard.press('Enter');
    await heading('Chats');
    await page.getByText(/^take your time\s+and rest$/).waitFor();
    await page.getByText('The agent is working').waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('Stopped.').first().waitFor();
    await page.getByText('The agent is working').waitFor({ state: 'detached' });
    isBusy = false;
    await page.getByRole('button', { name: 'Send again' }).click();
    // Text of agents is rendered as Markdown.
    await page.locator('strong', { hasText: 'done' }).first().waitFor();
    await field('When: 0 9 * * 1-5, every 2h, in 20m, or 2027-01-31T09:00').fill('every 2h');
    await field('What to say then').fill('look at the build');
    await page.getByRole('button', { name: 'Schedule', exact: true }).click();
    const planned = page.getByRole('listitem').filter({ hasText: 'look at the build' });
    await planned.getByText(/next .*\d/).waitFor();
    await planned.getByRole('button', { name: 'End' }).click();
    await page.getByText('Nothing is said at set times').waitFor();
    await page.getByRole('button', { name: 'Show every step' }).click();
    await page.getByText(/builtin, \d+ turns/).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('talk.json');
    const exported = JSON.parse(await readFile(await download.path(), 'utf8'));
    expect(exported.records).toContainEqual(expect.objectContaining({ text: 'Now it is **done**.' }));
    expect(exported.records).toContainEqual(expect.objectContaining({ type: 'turn' }));
    // A later reader finds it too.
    await page.reload();
    await page.locator('strong', { hasText: 'done' }).first().waitFor();
    await page.getByRole('link', { name: 'talk' }).first().waitFor();
  });

  test('settings: runtimes with reasons, the config with its sources, a key that is shown once', async () => {
    const { page } = scene;
    await go('settings');
    await page.getByText('works: os').waitFor();
    const doctor = page
      .locator('section, .card')
      .filter({ has: page.getByRole('heading', { name: 'Doctor' }) });
    await doctor.getByText('sandboxes are sealed').waitFor();
    await doctor.getByText(/a command ran, grade os/).waitFor();
    await page.getByText('gateway.port').waitFor();
    await field('Label').fill('made by a test');
    await page.getByRole('button', { name: 'Make a key' }).click();
    await page.getByText(/^geode_[0-9a-f]{12}_/).waitFor();
    await page.reload();
    await page.getByText('made by a test').waitFor();
    expect(await page.content()).not.toMatch(/geode_[0-9a-f]{12}_/);
  });

  test('keyboard: Ctrl-K leads to a sandbox, Escape closes, the first Tab skips to the page', async () => {
    const { page } = scene;
    await go('');
    // Fast typing arrives completely, even if the host is slower.
    await page.reload();
    const pressed = Promise.withResolvers<void>();
    await page.route('**/api/v1/sandboxes', async (route) => {
      await pressed.promise;
      await route.continue();
    });
    await heading('Home');
    await page.keyboard.press('Control+k');
    await field('Page or sandbox').fill('dem');
    await page.keyboard.press('Enter');
    pressed.resolve();
    await heading('demo');
    await page.unrouteAll({ behavior: 'wait' });
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.reload();
    await heading('demo');
    await page.keyboard.press('Tab');
    await expect
      .poll(() => page.evaluate('document.activeElement.textContent'), { timeout: waitMs })
      .toBe('Skip to the page');
  });
});
