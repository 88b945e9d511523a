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
  if (prompt.includes('look at the folder') && !prompt.includes('marker.md'))
    return { text: '', calls: [{ tool: 'shell', input: { command: 'ls -a' } }] };
  if (!prompt.includes('double')) return { text: 'The agent says hello.' };
  const code = isWrong ? 'def double(n): return n * n' : 'def double(n): return 2 * n';
  isWrong = false;
  return { text: JSON.stringify({ language: 'python', code, files: [], checks: '', needs: '' }) };
}

describeDashboard('UI-1, UI-2: the pages of the dashboard, in Chromium', { answer }, (scene) => {
  const { go, field, heading } = scene;
  const composer = () => scene.page.getByRole('textbox', { name: /^Message the agent/ });

  test('a provider that a variable sets cannot be changed in the config file', async () => {
    const { client } = scene.world;
    const other = { service: 'other', kind: 'openai', model: 'm', key: 'sk-another-key' } as const;
    await expect(client.providers.connect(other)).rejects.toMatchObject({ code: 'setting_overridden' });
    expect((await client.secrets.list()).map(({ name }) => name)).not.toContain('other');
  });

  test('runs: runs code from an editor, and shows its live output and exit code', async () => {
    const { page } = scene;
    await go('runs');
    await page.getByText('Files and limits').click();
    await field('Input (stdin)').fill('typed');
    const editor = page.getByRole('textbox', { name: 'Code' });
    await editor.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('print("seven times", 6 * 7, input())');
    await page.keyboard.press('Control+Enter');
    await page.getByText('seven times 42 typed').waitFor();
    await page.getByText(/^Finished in/).waitFor();
    // It is among the earlier runs, with its output, for every browser and after a reload.
    await page.reload();
    await page
      .locator('#main')
      .getByRole('link', { name: /seven times/ })
      .click();
    const past = page.getByRole('dialog');
    await past.getByRole('region', { name: 'Output' }).getByText('seven times 42 typed').waitFor();
    await past.getByText('exit code 0').waitFor();
    const address = page.url();
    await past.getByRole('button', { name: 'Put it into the editor' }).click();
    await past.waitFor({ state: 'detached' });
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Code' }).textContent(), { timeout: waitMs })
      .toContain('seven times');
    await page.goto(address);
    await past.getByText('seven times 42 typed').waitFor();
    await page.keyboard.press('Escape');
    await past.waitFor({ state: 'detached' });
  });

  test('memory: adds an entry, finds it with the reason, changes it with its versions kept, and forgets it', async () => {
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
    await go('knowledge/solves');
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
    await go('knowledge/crystals');
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Unpin' }).waitFor();
  });

  test('chat: a message becomes a chat, is stopped, edited and sent again, exported with every step', async () => {
    const { page } = scene;
    await go('agents');
    await page.waitForURL(/#\/chat$/);
    await field('Name of the chat').fill('talk');
    await composer().fill('take your time');
    await composer().press('Shift+Enter');
    await page.keyboard.type('and rest');
    await page.keyboard.press('Enter');
    await heading('talk');
    await page.getByText(/^take your time\s+and rest$/).waitFor();
    await page.locator('header').getByText('Working').waitFor();
    // A message that is written while the agent works waits in sight, and can be dropped.
    await composer().fill('and hurry');
    await composer().press('Enter');
    await page.getByRole('list', { name: 'Next' }).getByText('and hurry').waitFor();
    // The words stay in the field until the message is in the list; a reload before would keep them as a draft.
    await expect.poll(() => composer().inputValue(), { timeout: waitMs }).toBe('');
    await page.reload();
    await page.getByRole('list', { name: 'Next' }).getByText('and hurry').waitFor();
    // After a reload the list is there before it is known that the agent works; before that nothing can be stopped.
    await page.locator('header').getByText('Working').waitFor();
    await page.getByRole('button', { name: 'Do not send it' }).click();
    await page.getByRole('list', { name: 'Next' }).waitFor({ state: 'detached' });
    await composer().focus();
    await page.keyboard.press('Escape');
    await page
      .getByText(/The agent was stopped|Stopped\./)
      .first()
      .waitFor();
    await page.locator('header').getByText('Working').waitFor({ state: 'detached' });
    isBusy = false;
    await composer().press('ArrowUp');
    await expect.poll(() => composer().inputValue(), { timeout: waitMs }).toBe('take your time\nand rest');
    await composer().press('Enter');
    // Text of agents is rendered as Markdown.
    await page.locator('strong', { hasText: 'done' }).first().waitFor();
    await page.getByRole('button', { name: 'Actions' }).click();
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
    await page.getByRole('link', { name: /^talk/ }).first().waitFor();
  });

  test('chat: shows its files beside it, and a tool call as one line that expands', async () => {
    const { page, world } = scene;
    await world.client.sandboxes.of('demo').files.write('src/notes.md', '# Notes\n');
    await world.client.sandboxes.of('demo').files.write('marker.md', '# Marker\n');
    await go('chat/demo');
    await composer().fill('look at the folder');
    await composer().press('Enter');
    const step = page.getByRole('button', { name: /^Ran ls -a/ });
    await step.waitFor();
    await step.click();
    await page.getByRole('region', { name: 'Output' }).getByText('src').waitFor();
    await page.getByRole('link', { name: 'Show files and terminal' }).click();
    const files = page.getByRole('region', { name: 'Files of this chat' });
    await files.getByRole('button', { name: 'src' }).click();
    await files
      .getByRole('link', { name: /notes\.md/ })
      .first()
      .click();
    await files.getByRole('textbox', { name: 'Editor' }).waitFor();
    await page.getByRole('link', { name: 'Open it wide' }).click();
    await page.waitForURL(/#\/wide\/chat\/demo\/files/);
    await page.goBack();
    await composer().waitFor();
    await page.getByRole('link', { name: 'Cost' }).click();
    await page.getByText('Tokens written').waitFor();
  });

  test('chat: unsent text survives a reload and a missing host', async () => {
    const { page, world } = scene;
    await go('chat/talk');
    await composer().fill('half a thought');
    await page.reload();
    await expect.poll(() => composer().inputValue(), { timeout: waitMs }).toBe('half a thought');
    await page.getByText('Connected', { exact: true }).first().waitFor();
    await world.kill();
    await page.getByText('Kept here, sent when Geode answers').waitFor();
    await page.getByText(/^No answer from Geode/).waitFor();
    expect(await composer().inputValue()).toBe('half a thought');
    await world.start();
    await page.getByText('Connected', { exact: true }).first().waitFor();
    await composer().press('Enter');
    await page.getByRole('listitem').filter({ hasText: 'half a thought' }).first().waitFor();
    await expect.poll(() => composer().inputValue(), { timeout: waitMs }).toBe('');
  });

  test('settings: shows health with reasons, schedules, the config with its sources, and a new key once', async () => {
    const { page } = scene;
    await go('settings');
    await page.getByText('sandboxes are sealed').waitFor();
    await page.getByText(/a command ran, grade os/).waitFor();
    await go('settings/channels');
    await page.getByText('Connected', { exact: true }).first().waitFor();
    await go('settings/schedules');
    await field('Chat').fill('talk');
    await field('When: 0 9 * * 1-5, every 2h, in 20m, or 2027-01-31T09:00').fill('every 2h');
    await field('Message to send').fill('look at the build');
    await page.getByRole('button', { name: 'Schedule', exact: true }).click();
    const planned = page.getByRole('listitem').filter({ hasText: 'look at the build' });
    await planned.getByText(/next .*\d/).waitFor();
    await planned.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No schedule yet').waitFor();
    await go('settings/about');
    await page.getByText('gateway.port').waitFor();
    await go('settings/keys');
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
    await page.getByRole('combobox').fill('dem');
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
    // Keys lead to the places; the list of keys is one key away.
    await page.keyboard.press('Escape');
    await page.locator('#main').focus();
    // The second key counts for a second and a half after the first.
    await expect
      .poll(
        async () => {
          await page.keyboard.press('g');
          await page.keyboard.press('i');
          return page.getByRole('heading', { name: 'Inbox', level: 1 }).isVisible();
        },
        { timeout: waitMs, interval: 1_000 },
      )
      .toBe(true);
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('search and commands').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});
