/** From the first link to an agent that answers: the checklist, without a model and without a terminal. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isGeodeError } from '../../src/client/client.ts';
import { startModelServer } from '../fixtures/model-server/model-server.ts';
import { describeDashboard } from './scene.ts';

const key = 'sk-of-a-test-0123456789';

describeDashboard(
  'first use of the dashboard, in Chromium',
  { answer: () => ({ text: 'The agent says hello.' }), connected: false },
  (scene) => {
    const { go, heading, field, button } = scene;

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
