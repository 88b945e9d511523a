import { describe, expect, inject, it } from 'vitest';
import { toolContract } from '../contracts/tools.ts';
import { imageTag } from '../engine/images.ts';
import { hostWorld } from '../host/world.ts';

const { bubblewrap, docker } = inject('engines');

toolContract({
  name: 'bubblewrap',
  missing: bubblewrap.available ? undefined : bubblewrap.reason,
  settings: { GEODE_RUNTIME_NAME: 'bubblewrap' },
});

const onDocker = {
  GEODE_RUNTIME_NAME: 'docker',
  GEODE_DOCKER_IMAGE: imageTag('node'),
  ...(docker.available && { GEODE_DOCKER_HOST: `unix://${docker.socket}` }),
};
const skipped = docker.available ? '' : ` (skipped: ${docker.reason})`;

toolContract({
  name: 'docker',
  missing: docker.available ? undefined : docker.reason,
  settings: onDocker,
});

/** Connects, sends nothing and prints the answer. */
const listen = `
const socket = require('node:net').connect(process.argv[1]);
socket.on('data', (text) => process.stdout.write(text)).on('error', (error) => console.log(error.code));
`;

describe.skipIf(!docker.available)(`tools of a sandbox with several users${skipped}`, () => {
  it('MCP-1: only its own user may connect, with any mode of the socket', { timeout: 300_000 }, async () => {
    await using world = hostWorld(onDocker);
    const { host } = await world.open();
    const sandbox = await host.sandboxes.of('alice').getOrCreate('rooted', { rootAccess: true });
    const { place } = await host.tools.open(sandbox);
    const asNobody = () =>
      sandbox.exec({
        argv: ['node', '-e', listen, place.socket],
        user: '65534:65534',
        cwd: '/tmp',
        timeoutMs: 60_000,
      });
    expect((await asNobody()).stdout).toContain('EACCES');
    await sandbox.exec({ argv: ['chmod', '755', place.folder] });
    await sandbox.exec({ argv: ['chmod', '666', place.socket] });
    expect((await asNobody()).stdout).toContain('Only the sandbox');
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
    const { stdout } = await sandbox.exec({ argv: ['geode-mcp'], stdin: ping, timeoutMs: 60_000 });
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: {} });
  });
});
