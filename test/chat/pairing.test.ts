import { expect, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import type { Scope } from '../../src/contract/keys.ts';
import { type AgentScript, resultOf } from '../fixtures/scripted-agents.ts';
import { hostWorld } from '../host/world.ts';
import { chatScene } from './scene.ts';

const soon = { timeout: 60_000 };
const echo: AgentScript = async function* ({ message }) {
  yield resultOf(`You said ${message.text}`);
};
const allowed = { test: { olga: 'local', ann: 'ann' } };

it('GW-3: notifies the owner of a stranger in a private chat; a button allows the stranger', async () => {
  await using scene = await chatScene(echo, { allowed });
  const { channel, chats } = scene;
  const olga = { sender: { id: 'olga', name: 'Olga' }, isGroup: true };
  await channel.say('olga', 'hello');
  await channel.say('room', 'hello', olga);
  await channel.say('ann', 'hello');
  await expect.poll(() => scene.agents.turns.length, soon).toBe(3);
  await channel.say('eve', 'let me in');
  await channel.say('eve', 'please');
  await expect.poll(() => channel.shown('eve').length, soon).toBe(1);
  const asked = () => channel.sent.filter(({ buttons }) => (buttons ?? []).length > 0);
  await expect.poll(() => asked().length, soon).toBe(1);
  const [question] = asked();
  const code = chats.pairings()[0]?.code ?? '';
  expect(question).toMatchObject({
    address: 'olga',
    text: expect.stringContaining(
      `\`Person eve\` (\`eve\` on test) asks for access, with the code \`${code}\``,
    ),
  });

  await channel.say('olga', '/pair');
  await expect
    .poll(() => channel.shown('olga').at(-1), soon)
    .toBe(`\`${code}\` \`Person eve\` (\`eve\` on test)`);
  await channel.say('olga', question?.buttons?.[0]?.value ?? '');
  await expect
    .poll(() => channel.shown('olga').at(-1), soon)
    .toBe('`Person eve` (`eve` on test) now speaks as `test:eve`.');
  await expect.poll(() => channel.shown('eve').join(), soon).toContain('You are paired');
  // Earlier messages are answered in their order.
  await expect
    .poll(() => channel.shown('eve').filter((text) => text.startsWith('You said')), soon)
    .toEqual(['You said let me in', 'You said please']);
  expect(chats.senders()).toMatchObject([{ sender: 'eve', user: 'test:eve', pairedBy: 'test:olga' }]);
  await channel.say('eve', 'hello');
  await expect.poll(() => channel.shown('eve').at(-1), soon).toBe('You said hello');
  await channel.say('olga', question?.buttons?.[0]?.value ?? '');
  await expect
    .poll(() => channel.shown('olga').at(-1), soon)
    .toBe(`Nobody is waiting with the code ${code}.`);
});

it('GW-3: only the owner can allow a stranger', async () => {
  await using scene = await chatScene(echo, { allowed });
  const { channel, chats } = scene;
  await channel.say('eve', 'let me in');
  await expect.poll(() => chats.pairings().length, soon).toBe(1);
  const code = chats.pairings()[0]?.code ?? '';
  await channel.say('ann', `/pair ${code} ann`);
  await expect.poll(() => channel.shown('ann').at(-1), soon).toContain('Only the owner of this gateway');
  await channel.say('eve', `/pair ${code}`);
  await channel.say('eve', 'still here');
  await channel.say('room', '/pair', { sender: { id: 'ann', name: 'Ann' }, isGroup: true });
  await channel.say('room', `/pair ${code}`, { sender: { id: 'olga', name: 'Olga' }, isGroup: true });
  await expect.poll(() => channel.shown('room').at(-1), soon).toContain('belongs to another person');
  expect(chats.senders()).toEqual([]);
  expect(chats.pairings()).toHaveLength(1);
  expect(channel.shown('ann').join()).not.toContain('Person eve');
});

it('GW-3: the owner names the user of a stranger, and a flood of strangers is announced in one message', async () => {
  await using scene = await chatScene(echo, { allowed });
  const { channel, chats } = scene;
  await channel.say('olga', 'hello');
  await expect.poll(() => channel.shown('olga'), soon).toContain('You said hello');
  const told = () => channel.shown('olga').filter((text) => text.includes('asks for access'));
  await channel.say('s0', 'let me in');
  await expect.poll(() => told().length, soon).toBe(1);
  for (let stranger = 1; stranger < 20; stranger += 1) await channel.say(`s${stranger}`, 'let me in');
  await expect.poll(() => chats.pairings().length, soon).toBe(20);
  await expect.poll(() => channel.shown('s19').length, soon).toBe(1);
  expect(told().length).toBeLessThanOrEqual(5);
  const code = chats.pairings().find(({ sender }) => sender === 's19')?.code ?? '';
  await channel.say('olga', `/pair ${code} Bad/Name`);
  await expect.poll(() => channel.shown('olga').at(-1), soon).toContain('Name the user');
  await channel.say('olga', `/pair ${code.toLowerCase()} ann`);
  await expect.poll(() => channel.shown('olga').at(-1), soon).toContain('speaks as `ann`');
  await channel.say('s19', 'hello');
  await expect.poll(() => scene.agents.turns.at(-1), soon).toMatchObject({ user: 'ann', chat: 'test:s19' });
});

it('GW-3: over the API, pairing a person needs the scope admin, and deciding an approval the scope approvals', async () => {
  await using world = hostWorld();
  const { host, gateway } = await world.open();
  const post = (text: string, scopes: readonly Scope[]) => {
    const { secret } = host.keys.create({ user: 'local', scopes });
    return createClient({ url: gateway.url, key: secret }).chats.post('plans', { text });
  };
  await expect(post('/pair K7QM2XRA', ['agents', 'approvals'])).rejects.toMatchObject({ code: 'forbidden' });
  await expect(post('/approve ABC123', ['agents'])).rejects.toMatchObject({ code: 'forbidden' });
  await expect(post('/pair K7QM2XRA', ['agents', 'admin'])).resolves.toMatchObject({ isNew: true });
});
