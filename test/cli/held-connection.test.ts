import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;

describe.skipIf(!bubblewrap.available)(`a command whose connections stay open${skipped}`, patience, () => {
  let home: SandboxHome;
  let held: HeldSocket;

  beforeAll(async () => {
    home = await sandboxHome({ GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_SANDBOX_LINGER: '600' });
    await home.ok(['sandbox', 'create', 'demo']);
    held = await holdSocket(home);
  }, patience.timeout);
  afterAll(async () => {
    held.release();
    await home[Symbol.asyncDispose]();
  });

  it.each([
    ['a command in a sandbox', ['sandbox', 'exec', 'demo', '--', 'echo', 'here'], 0, 'here\n'],
    ['one that fails', ['sandbox', 'exec', 'demo', '--', 'sh', '-c', 'exit 3'], 3, ''],
    ['one that is refused', ['sandbox', 'exec', 'nobody', '--', 'true'], 125, ''],
    ['a run', ['run', '-q', 'shell', '-c', 'echo here'], 0, 'here\n'],
    ['a list', ['sandbox', 'ls'], 0, expect.stringContaining('local/demo')],
  ] as const)('ends with its answer, though the host never closes: %s', async (_, args, code, stdout) => {
    const before = held.answers();
    expect(await home.run(args)).toMatchObject({ code, stdout });
    expect(held.answers()).toBeGreaterThan(before);
  });
});

interface HeldSocket {
  /** How often the host has said something through it. */
  answers(): number;
  release(): void;
}

/** Names another socket as the host's, which passes on every byte, but to the command no end of a connection. */
async function holdSocket({ folder, host }: SandboxHome): Promise<HeldSocket> {
  const facts = await host();
  const api = facts.serves?.api ?? '';
  const path = `${api}.held`;
  const sockets = new Set<Socket>();
  let answers = 0;
  const server = createServer({ allowHalfOpen: true }, (command) => {
    const behind = connect({ path: api, allowHalfOpen: true });
    for (const socket of [command, behind]) sockets.add(socket.on('error', () => {}));
    command.on('data', (piece) => behind.write(piece)).on('end', () => behind.end());
    behind.on('data', (piece) => {
      answers += 1;
      command.write(piece);
    });
  });
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject).listen(path, listening.resolve);
  await listening.promise;
  chmodSync(path, 0o600);
  const name = (api: string) => {
    const file = join(folder, '.local/state/geode/host.json');
    writeFileSync(`${file}.new`, JSON.stringify({ ...facts, serves: { ...facts.serves, api } }));
    renameSync(`${file}.new`, file);
  };
  name(path);
  return {
    answers: () => answers,
    release() {
      name(api);
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
