/** The output of doctor where bwrap may not create namespaces. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import { whyNoNamespaces } from '../../src/runtimes/bubblewrap/why-no-namespaces.ts';
import { fixture } from '../contracts/harness.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const { docker, bubblewrap } = inject('engines');
const refused = 'bwrap: setting up uid map: Permission denied';
const appArmor = 'proc/sys/kernel/apparmor_restrict_unprivileged_userns';
const debian = 'proc/sys/kernel/unprivileged_userns_clone';
const most = 'proc/sys/user/max_user_namespaces';

describe('the reason why there are no namespaces', () => {
  it.for<[Record<string, string>, number, RegExp, RegExp]>([
    [
      { [appArmor]: '1\n', [most]: '5000\n' },
      1000,
      /^AppArmor .*apparmor_restrict/,
      /apparmor\.d\/bwrap.*reload apparmor/,
    ],
    [
      { [debian]: '0\n', [appArmor]: '0\n' },
      1000,
      /unprivileged_userns_clone is 0/,
      /sysctl kernel\.unprivileged_userns_clone=1/,
    ],
    [{ [most]: '0\n', [appArmor]: '1\n' }, 0, /max_user_namespaces is 0/, /sysctl user\.max_user_namespaces/],
    [{ '.dockerenv': '', [appArmor]: '1\n' }, 1000, /container .* refuses namespaces/, /seccomp=unconfined/],
    [{ 'run/.containerenv': '' }, 0, /container .* refuses namespaces/, /systempaths=unconfined/],
    [{ [appArmor]: '1\n' }, 0, /^bwrap cannot/, /security module/],
    [{ [debian]: '1\n', [appArmor]: '0\n', [most]: '100\n' }, 1000, /^bwrap cannot/, /security module/],
  ])('CLI-1: on a machine with %j, user %d', async ([files, uid, reason, fix]) => {
    using machine = temporaryFolder();
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(machine.path, name)), { recursive: true });
      await writeFile(join(machine.path, name), content);
    }
    const found = await whyNoNamespaces(refused, { uid, root: machine.path });
    expect(found).toEqual({ reason: expect.stringMatching(reason), fix: expect.stringMatching(fix) });
    expect(found.reason).toContain(refused);
  });
});

const missing = !docker.available ? docker.reason : !bubblewrap.available ? bubblewrap.reason : undefined;
const skipped = missing === undefined ? '' : ` (skipped: ${missing})`;

describe.skipIf(missing !== undefined)(`a host inside a container${skipped}`, { timeout: 300_000 }, () => {
  const repository = fileURLToPath(new URL('../..', import.meta.url));
  const probeWith = async (options: readonly string[]): Promise<unknown> => {
    const socket = docker.available ? docker.socket : '';
    const command = [
      ...[
        '--host',
        `unix://${socket}`,
        'run',
        '--rm',
        '--interactive',
        '--network',
        'none',
        '--user',
        '1000:1000',
      ],
      ...['--read-only', '--cap-drop', 'ALL', '--tmpfs', '/tmp:mode=1777', '--env', 'HOME=/tmp', ...options],
      ...['--volume', '/usr:/usr:ro', '--volume', `${repository}:${repository}:ro`],
      ...['geode-test/python:1', process.execPath, fixture('ordinary-host.ts'), '/tmp/host', 'probe'],
    ];
    const running = promisify(execFile)('docker', command);
    running.child.stdin?.end('begin\n');
    return JSON.parse((await running).stdout);
  };

  it('CLI-1: names the seccomp profile or the mount that hides /proc, and the given fix works', async () => {
    const fix = expect.stringContaining('seccomp=unconfined --security-opt systempaths=unconfined');
    const reason = (text: string) => expect.stringContaining(text);
    expect(await probeWith([])).toMatchObject({ available: false, reason: reason('seccomp profile'), fix });
    const open = ['--security-opt', 'seccomp=unconfined'];
    expect(await probeWith(open)).toMatchObject({ available: false, reason: reason('parts of /proc'), fix });
    const both = [...open, '--security-opt', 'systempaths=unconfined'];
    expect(await probeWith(both)).toMatchObject({ softLimits: ['memory', 'pids'] });
  });
});
