/** From the first link to an agent that answers: the checklist, without a model and without a terminal. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../src/cli/command-list.ts';
import { isGeodeError } from '../../src/client/client.ts';
import { startModelServer } from '../fixtures/model-server/model-server.ts';
import { describeDashboard, phoneForm } from './scene.ts';
import { waitMs } from './world.ts';

const key = 'sk-of-a-test-0123456789';

/** A person has time to look at every place. */
const settings = { GEODE_EGRESS_ASK_TIMEOUT: '300' };

/** The empty places of a host with nothing but the sandbox `demo`. */
const emptyPlaces: readonly (readonly [path: string, words: RegExp])[] = [
  ['inbox', /Nothing waits for you/],
  ['chat', /What should the agent do/],
  ['sandboxes/demo/terminal', /No terminal runs here/],
  ['sandboxes/demo/processes', /No processes yet/],
  ['sandboxes/demo/egress', /No requests yet/],
  ['sandboxes/demo/timeline', /No snapshot yet/],
  ['code/runs', /No run yet/],
  ['code/notebooks', /No notebooks yet/],
  ['knowledge/memory', /Memory is empty/],
  ['knowledge/crystals', /No crystal yet/],
  ['knowledge/solves', /No solve yet/],
  ['settings/users', /Nobody yet/],
  ['settings/schedules', /No schedule yet/],
  ['settings/secrets', /No secret is set/],
];

describeDashboard(
  'UI-3: first use of the dashboard, in Chromium',
  { answer: () => ({ text: 'The agent says hello.' }), connected: false, settings },
  (scene) => {
    const { go, heading, field, button } = scene;

    test('every empty place says what belongs there, with its action and the command that does the same', async () => {
      const { page } = scene;
      const names = new Set(commands.map(({ name }) => name));
      for (const [path, words] of emptyPlaces) {
        await go(path);
        await page.getByText(words).first().waitFor();
        const lines = page.locator('#main code', { hasText: /^geode / });
        await lines.first().waitFor();
        await page.locator('#main').getByRole('button', { name: 'Copy' }).first().waitFor();
        // A command that is shown exists.
        for (const line of await lines.allInnerTexts()) {
          const [, one = '', two = ''] = line.split(' ');
          expect(names.has(`${one} ${two}`) || names.has(one), line).toBe(true);
        }
      }
    });

    test('the checklist runs code, tests and connects a model, and ends with an agent that answers', async () => {
      const { page } = scene;
      await go('');
      await page.getByRole('heading', { name: 'Set up Geode' }).waitFor();
      const editor = page.getByRole('textbox', { name: 'Code' });
      await editor.click();
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText('print("six times", 6 * 7)');
      await page.keyboard.press('Control+Enter');
      await page.getByRole('region', { name: 'Output' }).getByText('six times 42').waitFor();
      await page.getByText(/^Finished in/).waitFor();
      await page.getByText('Code ran').waitFor();
      await button('Go on').click();
      await page.getByRole('radio', { name: 'Another' }).check({ force: true });
      await field('Name').fill('scripted');
      await field('Model').fill('some-model');
      // A wrong address is refused with its reason, and nothing is saved.
      await field('Address').fill('http://127.0.0.1:9/v1');
      await button('Save and use it').click();
      await page.getByRole('alert').waitFor();
      expect(await button('Say hello').isDisabled()).toBe(true);
      await field('Address').fill(scene.modelAddress);
      await field('API key (may be empty)').fill(key);
      await button('Test').click();
      await page.getByText(/^It answered in/).waitFor();
      await button('Save and use it').click();
      await page.getByText('Agents use scripted/some-model').waitFor();
      await button('Say hello').click();
      await heading('hello');
      await page.getByText('The agent says hello.').first().waitFor();
      await go('');
      await page.getByText('An agent has answered').waitFor();
      await button('Hide this list').click();
      await page.getByRole('heading', { name: 'Recently' }).waitFor();
      await page
        .getByText(/Python finished in/)
        .first()
        .waitFor();
      // The page shows no names of events and no JSON.
      expect(await page.locator('#main').innerText()).not.toMatch(/run-end|process-exit|[{}]/);
    });

    test('a question is seen from every place: in the navigation, the title, the icon and on a phone', async () => {
      const { page, world } = scene;
      const { approvals } = world.client;
      // A first try may have left its question open.
      for (const { id } of await approvals.list()) await approvals.decide(id, { decision: 'deny' });
      const sandbox = world.client.sandboxes.of('demo');
      await sandbox.egress.ask(true);
      const ask = 'import urllib.request\nurllib.request.urlopen("http://seen.invalid/", timeout=290)';
      const asking = sandbox.exec({ argv: ['python3', '-c', ask], timeoutMs: null });
      const phone = await world.open(phoneForm);
      for (const path of [
        '',
        'chat/hello',
        'sandboxes/demo/timeline',
        'code/runs',
        'knowledge/memory',
        'settings/health',
      ]) {
        await go(path);
        await page.getByRole('link', { name: /Inbox.*1 wait for you/ }).waitFor();
        await expect.poll(() => page.title(), { timeout: waitMs }).toMatch(/^\(1\) .* Geode$/);
        await expect
          .poll(() => page.locator('link[rel=icon]').getAttribute('href'), { timeout: waitMs })
          .toContain('b92229');
      }
      await go('settings/health', phone);
      await phone.getByRole('link', { name: /1 wait for you\s*Inbox/ }).tap();
      await phone.getByRole('button', { name: 'Deny', exact: true }).tap();
      expect((await asking).exitCode).not.toBe(0);
      await page.getByRole('link', { name: /Inbox.*1 wait for you/ }).waitFor({ state: 'detached' });
      await phone.context().close();
      await sandbox.egress.ask(false);
    });

    test('what happened is told in sentences: who did what, and how long it took', async () => {
      const { page, world } = scene;
      const sandbox = world.client.sandboxes.of('demo');
      await sandbox.spawn({ argv: ['uname', '-s'] });
      await sandbox.spawn({ argv: ['/bin/sh', '-c', 'exit 3'] });
      await go('');
      const recently = page.getByRole('region', { name: 'Recently' });
      await recently
        .getByText(/^demo: uname finished in/)
        .first()
        .waitFor();
      await recently
        .getByText(/^demo: sh failed after .*, exit 3/)
        .first()
        .waitFor();
      await recently
        .getByText(/^hello: the agent has finished/)
        .first()
        .waitFor();
      await go('sandboxes/demo/log');
      await page
        .getByText(/^Uname finished in/)
        .first()
        .waitFor();
      expect(await page.locator('#main').innerText()).not.toMatch(
        /process-exit|[{}]|[0-9a-f]{8}-[0-9a-f]{4}/,
      );
    });

    test('a connected key is sealed: no file, answer or other address receives it', async () => {
      const { client, env } = scene.world;
      const config = join(env.HOME ?? '', '.config/geode/geode.json');
      expect(await readFile(config, 'utf8')).toContain('scripted/some-model');
      expect(await readFile(config, 'utf8')).not.toContain(key);
      expect(JSON.stringify(await client.settings())).not.toContain(key);
      expect((await client.secrets.list()).map(({ name }) => name)).toContain('scripted');
      const provider = { service: 'scripted', kind: 'openai-compatible', model: 'some-model' } as const;
      // Without a key the stored one is used, but only for the address that it was stored with.
      expect((await client.providers.test(provider)).text).toBe('The agent says hello.');
      await using stranger = await startModelServer(() => ({ text: 'Give me the key.' }));
      await client.providers.test({ ...provider, baseUrl: `${stranger.url}/v1` });
      expect(stranger.calls).toHaveLength(1);
      expect(JSON.stringify(stranger.calls)).not.toContain(key);
    });

    test('two providers at once are both written, and a config without an address is refused', async () => {
      const { client, env } = scene.world;
      const local = { kind: 'openai-compatible', model: 'm', baseUrl: scene.modelAddress } as const;
      await Promise.all(['one', 'two'].map((service) => client.providers.connect({ ...local, service })));
      const config = await readFile(join(env.HOME ?? '', '.config/geode/geode.json'), 'utf8');
      for (const service of ['"one"', '"two"', '"scripted"']) expect(config).toContain(service);
      const { baseUrl: _, ...nowhere } = local;
      const refused = await client.providers.connect({ ...nowhere, service: 'three' }).catch((e) => e);
      expect(isGeodeError(refused, 'invalid_input')).toBe(true);
      expect(await client.settings()).toContainEqual(
        expect.objectContaining({
          name: 'providers.default',
          value: expect.stringMatching(/^(one|two)\/m$/),
        }),
      );
    });
  },
);
