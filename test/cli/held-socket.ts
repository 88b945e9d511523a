import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { SandboxHome } from './sandbox-home.ts';

export interface HeldSocket {
  /** How many pieces the host has sent through it. */
  answers(): number;
  release(): void;
}

/**
 * Names another socket as the host's. It passes on every byte of an answer, but to the command no end of a connection and
 * no sign of life: a command that waits for the host after its answer waits for ever.
 */
export async function holdSocket({ folder, host }: SandboxHome): Promise<HeldSocket> {
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
      if (piece.includes(': alive\n\n')) return;
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
