import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { programPath } from '../../../scripts/build-guest.ts';
import { bubblewrapRuntime } from '../../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../../src/runtimes/docker/docker.ts';
import { nativeRuntime } from '../../../src/runtimes/native/native.ts';
import { roomOf } from '../../../src/runtimes/rooms.ts';
import { forkWorkspace } from '../../../src/sandboxes/snapshots/fork-workspace.ts';
import { snapshotsOf } from '../../../src/sandboxes/snapshots/snapshots-of.ts';
import type { Sandbox } from '../../../src/seams/sandbox.ts';
import type { WorkspacePlace } from '../../../src/seams/snapshots.ts';
import { type Harness, openHarness } from '../../contracts/harness.ts';
import { told } from './place.ts';

const { docker, bubblewrap } = inject('engines');

const runtimes = [
  {
    name: 'docker',
    unavailable: docker.available ? undefined : docker.reason,
    open: () =>
      openHarness((options) => dockerRuntime(options, options.docker), {
        dockerLink: 'socket',
        ...(docker.available ? { dockerSocket: docker.socket } : {}),
      }),
  },
  {
    name: 'bubblewrap',
    unavailable: bubblewrap.available ? undefined : bubblewrap.reason,
    open: () => openHarness(bubblewrapRuntime),
  },
  { name: 'native', unavailable: undefined, open: () => openHarness(nativeRuntime) },
];

for (const { name, unavailable, open } of runtimes) {
  describe.skipIf(unavailable !== undefined)(
    `SBX-7: workspaces of ${name} sandboxes${unavailable === undefined ? '' : ` (${unavailable})`}`,
    () => {
      let harness: Harness;
      beforeAll(async () => {
        harness = await open();
      });
      afterAll(() => harness?.close());

      const placeOf = ({ id }: Sandbox): WorkspacePlace => {
        const room = roomOf(harness.options, id);
        const { uid, gid } = statSync(room.workspace);
        return {
          workspace: room.workspace,
          folder: join(room.folder, 'snapshots'),
          program: programPath('workspace'),
          owner: { uid, gid },
        };
      };
      const says = async (sandbox: Sandbox, script: string) => {
        const { stdout, stderr, exitCode } = await sandbox.exec({ argv: ['sh', '-c', script] });
        expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
        return stdout;
      };

      it('are restored while their processes continue', async () => {
        const sandbox = await harness.open();
        const snapshots = snapshotsOf(placeOf(sandbox));
        await says(
          sandbox,
          'mkdir src; echo one > src/a; ln -s /etc/hostname host; echo kept > kept; chmod 750 src',
        );
        const server = await sandbox.spawn({
          argv: ['sh', '-c', 'cd src; echo ready; read _; cat a; echo from-inside > b'],
          interactive: true,
        });
        const events = server[Symbol.asyncIterator]();
        expect(await events.next()).toMatchObject({ value: { type: 'stdout' } });
        await snapshots.take({ name: 'start' });
        await says(sandbox, 'echo two > src/a; rm host; echo new > new; rm kept; chmod 700 src');
        expect(await told(snapshots.diff('start'))).toEqual([
          'removed host',
          'removed kept',
          'added new',
          'mode src',
          'modified src/a',
        ]);
        await snapshots.restore('start');
        expect(await says(sandbox, 'cat src/a kept; readlink host; stat -c %a:%u src; id -u; ls')).toMatch(
          /^one\nkept\n\/etc\/hostname\n750:(\d+)\n\1\nhost\nkept\nsrc\n$/,
        );
        await server.write('go on\n');
        expect(await events.next()).toMatchObject({ value: { bytes: Buffer.from('one\n') } });
        expect(await events.next()).toMatchObject({ value: { type: 'exit', exitCode: 0 } });
        expect(await says(sandbox, 'cat src/b; echo mine >> src/a; cat src/a')).toBe(
          'from-inside\none\nmine\n',
        );
      });

      it('undo the last command', async () => {
        const sandbox = await harness.open();
        const snapshots = snapshotsOf(placeOf(sandbox));
        await says(sandbox, 'echo precious > work');
        await snapshots.mark();
        await says(sandbox, 'rm -rf ./* ; mkdir -p oops/oops');
        await snapshots.undo();
        expect(await says(sandbox, 'cat work; ls')).toBe('precious\nwork\n');
      });

      it('fork into another sandbox; its user owns the files', async () => {
        const source = await harness.open();
        const snapshots = snapshotsOf(placeOf(source));
        await says(source, 'mkdir d; echo then > d/file; chmod 600 d/file');
        await snapshots.take({ name: 'then' });
        await says(source, 'echo now > d/file');
        const [first, second] = [await harness.open(), await harness.open()];
        await forkWorkspace(placeOf(source), placeOf(first));
        await forkWorkspace(placeOf(source), placeOf(second), { snapshot: 'then' });
        expect(await says(first, 'cat d/file; echo more >> d/file; rm -r d')).toBe('now\n');
        expect(await says(second, 'cat d/file; echo more >> d/file')).toBe('then\n');
        expect(await says(source, 'cat d/file')).toBe('now\n');
      });
    },
  );
}
