import { expect, it } from 'vitest';
import { telegramToken } from '../fixtures/telegram-server.ts';
import { ended, gatewayWorld, lastSaid } from './gateway-world.ts';

const patience = { timeout: 600_000 };

const ann = 42;

it(
  'GW-1: people on telegram, the terminal and the API talk to the built-in agent, each chat in its own sandbox',
  patience,
  async () => {
    await using scene = await gatewayWorld(
      (call) => {
        const said = lastSaid(call);
        if (said.includes('write')) {
          const input = { command: 'echo "made in the sandbox" > made.txt' };
          return { text: 'I write it.', calls: [{ tool: 'shell', input }] };
        }
        return { text: said.includes('hello') ? 'Hello to you.' : 'It is written.' };
      },
      { [ann]: 'ann' },
    );
    const { telegram, geode } = scene;
    await scene.start();
    telegram.write(ann, 'write a file');
    await expect.poll(() => telegram.shown(ann).at(-1), { timeout: 120_000 }).toMatch(/^It is written/);
    telegram.write(ann, '/file made.txt');
    await expect
      .poll(() => telegram.messages.at(-1)?.file?.bytes.toString(), { timeout: 60_000 })
      .toBe('made in the sandbox\n');

    const example = await scene.shell(
      'echo "hello there" | geode chat plans; geode chat plans -m /status; geode chat ls; geode status',
    );
    expect(example).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Hello to you\.\n/) });
    expect(example.stdout).toContain('Spent today: $0.00, ');
    expect(example.stdout).toMatch(/plans +web/);
    expect(example.stdout).toMatch(/telegram +connected/);

    telegram.write(7, 'let me in');
    await expect.poll(() => telegram.shown(7).join(), { timeout: 60_000 }).toContain('I do not know you yet');
    const waiting = JSON.parse((await geode(['chat', 'pair', '--json'])).stdout);
    const paired = await geode(['chat', 'pair', waiting.pairings[0].code, '--as', 'eve']);
    expect(paired.stdout).toBe('Person 7 on telegram now acts as eve.\n');
    telegram.write(7, 'hello');
    await expect.poll(() => telegram.shown(7), { timeout: 60_000 }).toContain('Hello to you.');
    expect((await geode(['chat', 'unpair'])).stdout).toContain('as eve, by socket');

    expect((await scene.client().chats.list()).map(({ name }) => name)).toEqual(['plans']);
    expect((await scene.client().as('ann').chats.list()).map(({ name }) => name)).toEqual([
      `telegram:${ann}`,
    ]);
    expect(scene.log.join('')).not.toContain(telegramToken);
  },
);

it(
  'GW-3: an approval requested before a kill of the gateway can be allowed after it, and the action runs',
  patience,
  async () => {
    const command = 'cat ~/.ssh/no-such-key; echo got-$((40+2))';
    await using scene = await gatewayWorld(
      (call) =>
        call.prompt.includes('got-42')
          ? { text: 'Done with it.' }
          : { text: '', calls: [{ tool: 'shell', input: { command } }] },
      { [ann]: 'ann' },
    );
    const { telegram } = scene;
    const gateway = await scene.start();
    telegram.write(ann, 'clean up');
    const question = () => telegram.messages.find(({ buttons }) => buttons.length > 0);
    await expect.poll(question, { timeout: 120_000 }).toBeDefined();
    expect(question()?.text).toMatch(/no\\?-such\\?-key/);
    await ended(gateway, 'SIGKILL');
    await scene.start();
    const asked = question();
    if (asked !== undefined) telegram.press(ann, asked, 'Allow once');
    await expect.poll(() => telegram.shown(ann).join(' '), { timeout: 120_000 }).toContain('Done with it');
  },
);

it(
  'warns at the start and refuses /model where the daily budget in dollars cannot limit a model without a price',
  patience,
  async () => {
    const priced = JSON.stringify({ 'scripted/cheap-model': { input: 1, output: 1 } });
    await using scene = await gatewayWorld(
      () => ({ text: 'Hello to you.' }),
      { [ann]: 'ann' },
      { GEODE_PROVIDERS_DAILY_BUDGET: '1', GEODE_PROVIDERS_PRICES: priced },
    );
    const { telegram } = scene;
    await scene.start();
    const warning = (model: string) =>
      `${model} has no price, so the daily budget in dollars does not limit it`;
    await expect
      .poll(() => scene.log.join(''), { timeout: 60_000 })
      .toContain(warning('scripted/some-model'));
    const shown = () => telegram.shown(ann).join('\n').replaceAll('\\', '');
    telegram.write(ann, '/model scripted/other-model');
    await expect.poll(shown, { timeout: 120_000 }).toContain(warning('scripted/other-model'));
    telegram.write(ann, '/model scripted/cheap-model');
    await expect.poll(shown, { timeout: 120_000 }).toContain('Now using scripted/cheap-model');
    expect(shown()).not.toContain(warning('scripted/cheap-model'));
  },
);
