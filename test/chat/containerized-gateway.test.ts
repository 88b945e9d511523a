import { once } from 'node:events';
import { expect, inject, it } from 'vitest';
import { sandboxHome } from '../cli/sandbox-home.ts';
import { eventually } from '../contracts/harness.ts';
import { type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

it.skipIf(!bubblewrap.available)(
  `CA-1: geode gateway --containerized answers from inside the sandbox of the chat, within its limits${skipped}`,
  { timeout: 300_000 },
  async () => {
    const script: Reply[] = [];
    await using model = await startModelServer(() => script.shift() ?? { text: 'There is no more.' });
    const service = { kind: 'anthropic', base_url: `${model.url}/v1`, api_key: 'the-key-of-the-operator' };
    await using home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_PROVIDERS_SERVICES: JSON.stringify({ scripted: service }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      GEODE_MEMORY_EMBEDDER: 'ollama',
      GEODE_MEMORY_MODEL: 'none',
      GEODE_MEMORY_DIMENSIONS: '8',
      GEODE_MEMORY_BASE_URL: 'http://127.0.0.1:9',
    });
    const look = { tool: 'shell', input: { command: 'cat /proc/*/cmdline | tr "\\0" " " > seen' } };
    script.push({ text: '', calls: [look] }, { text: 'I looked.' });
    const gateway = home.start('gateway', '--port', '0', '--no-auth', '--containerized');
    const serving = async () => (await home.host().catch(() => undefined))?.serves?.as;
    await eventually(serving, 'the gateway', 120_000);
    expect(await home.ok(['chat', 'inside', '-m', 'look'])).toContain('I looked.');
    expect(await home.ok(['sandbox', 'exec', 'inside', '--', 'cat', 'seen'])).toContain('agent-stdin.mjs');
    const { sandboxes } = JSON.parse(await home.ok(['sandbox', 'stats', '--json', 'inside']));
    expect(sandboxes).toMatchObject([{ memoryBytes: { limit: 1024 ** 3 }, cpus: { limit: 2 } }]);
    await home.ok(['sandbox', 'rm', 'inside']);

    // A person can bring a chat from before into the new way, with no command but those of the chat.
    await home.ok(['sandbox', 'create', 'before']);
    const refused = await home.run(['chat', 'before', '-m', 'look']);
    expect(refused.code).toBe(1);
    expect(refused.stdout + refused.stderr).toContain('/new empty');
    expect(await home.ok(['chat', 'before', '-m', '/new empty'])).toContain('without files');
    script.push({ text: 'Here, inside.' });
    expect(await home.ok(['chat', 'before', '-m', 'look'])).toContain('Here, inside.');
    await home.ok(['sandbox', 'rm', 'before']);
    const ended = once(gateway, 'close');
    gateway.kill('SIGTERM');
    await ended;
  },
);
