/** The tests of `install.sh` on the machine of a new user, whose registry has the packages. */
import { chmodSync, copyFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { installPackages } from './engine/apt.ts';
import { cacheFolder } from './engine/folders.ts';
import { locked } from './engine/lock.ts';
import type { Newcomer } from './engine/newcomer.ts';

export interface InstallWorld {
  readonly newcomer: Newcomer;
  /** The root folder of the machine. */
  readonly machine: string;
  readonly registry: string;
  readonly version: string;
}

const script = fileURLToPath(new URL('../install.sh', import.meta.url));
/** Other tests install packages into folders of projects. */
const leftOfGeode = `find ~ /usr/local /tmp -name '*geode*' ! -path '*/.npm/*' ! -path ~/app/'*' ! -path ~/plain/'*' | sort`;

export function installScriptTests(world: () => InstallWorld): void {
  /** Runs install.sh after `before`, and returns what it wrote, with its exit code as the last line. */
  async function install(args: string, as: 'root' | 'user', before = ':'): Promise<string> {
    const run = `code=0; sh /opt/install.sh ${args} 2>&1 </dev/null || code=$?; echo "code $code"`;
    return await onMachine(`${before}\n${run}`, as);
  }

  async function onMachine(commands: string, as: 'root' | 'user'): Promise<string> {
    const { newcomer, machine, registry } = world();
    copyFileSync(script, join(machine, 'opt/install.sh'));
    return await newcomer.run(`unset npm_config_prefix\n${commands}`, as, 'npm10', registry);
  }

  it('OPS-1: install.sh installs for a user, changes nothing the second time, and --remove leaves nothing', async () => {
    const { version } = world();
    const first = await install('', 'user');
    expect(first).toContain('Node         v20.20.2 with npm 10.8.2\n');
    expect(first).toContain(`Geode        ${version}, installed in /home/ann/.local\n`);
    expect(first).toContain('\nReady. Strongest isolation here: os.\n');
    expect(first).toContain('\nAdd geode to your PATH: export PATH=/home/ann/.local/bin:$PATH\n');
    expect(first).toMatch(/\ncode 0\n$/);
    const second = await install('', 'user', 'PATH=$HOME/.local/bin:$PATH');
    expect(second).toContain(`Geode        ${version}, already installed\n`);
    expect(second).not.toContain('Add geode to your PATH');
    expect(second).toMatch(/\ncode 0\n$/);
    const code = `$HOME/.local/bin/geode run --runtime bubblewrap python -c 'print(6*7)' 2>/dev/null`;
    expect(await onMachine(code, 'user')).toBe('42\n');
    const removed = await install('--remove --data', 'user');
    expect(removed).toContain('Stops     the host');
    expect(removed).toMatch(/Geode {8}removed from \/home\/ann\/\.local\ncode 0\n$/);
    expect(await onMachine(leftOfGeode, 'user')).toBe('');
    expect(await install('--remove', 'user')).toBe(
      'Geode        not installed in /home/ann/.local\ncode 0\n',
    );
  });

  it('OPS-1: install.sh brings Node where there is none, and bubblewrap and gVisor when they are asked for', async () => {
    const { machine, version } = world();
    await addTools(machine);
    await offerPackages(machine);
    const bare = 'PATH=/opt/tools:/usr/bin:/bin:/usr/sbin:/sbin';
    const refused = await install('', 'root', `${bare}; dpkg --purge bubblewrap >/dev/null 2>&1`);
    expect(refused).toMatch(/^Node {9}none; Geode gets Node 24\.\S+ of its own$/m);
    expect(refused).toContain(`Geode        ${version}, installed in /usr/local\n`);
    expect(refused).toContain(
      'bubblewrap   not installed: apt-get install --yes --no-install-recommends bubblewrap\n',
    );
    expect(refused).toMatch(/^!! .*isolation/m);
    expect(refused).toMatch(/^Not ready: fix .*isolation/m);
    expect(refused).toMatch(/\ncode 1\n$/);
    const ready = await install('--bubblewrap', 'root', bare);
    expect(ready).toContain(`Geode        ${version}, already installed\n`);
    expect(ready).toMatch(/^bubblewrap {3}\S+, installed$/m);
    expect(ready).toMatch(/^Ready\. Strongest isolation here: os\.$/m);
    expect(ready).toMatch(/\ncode 0\n$/);
    const use = `${bare}; geode=/usr/local/bin/geode; $geode --version
$geode run --runtime bubblewrap python -c 'print(6*7)' 2>/dev/null`;
    expect(await onMachine(use, 'root')).toBe(`geode ${version}\n42\n`);
    // The command finds the npm that came with its Node.
    expect(await onMachine(`${bare}; tail -n 1 /usr/local/bin/geode`, 'root')).toContain(
      `PATH=$PATH:'/usr/local/lib/geode-home/bin' `,
    );

    // `script` gives a terminal, where root is asked about gVisor if there is a Go that builds it.
    expect(ready).toContain('gVisor       not installed: install Go, then geode runtime install gvisor\n');
    const ask = (answer: string) =>
      onMachine(
        `${bare}:/opt/go; echo ${answer} | script -qec 'sh /opt/install.sh' /dev/null || echo failed`,
        'root',
      );
    const declined = await ask('n');
    expect(declined).toMatch(/Build gVisor, .*\? .*\[y\/N\]/);
    expect(declined).toContain('gVisor       not installed: geode runtime install gvisor');
    const failed = await ask('y');
    expect(failed).toContain('gVisor cannot be built: no module proxy');
    expect(failed).toContain('install.sh: gVisor could not be installed.');
    expect(failed).toMatch(/failed\n$/);
    expect(await install('--remove --data', 'root', bare)).toMatch(/removed from \/usr\/local\ncode 0\n$/);
    expect(await onMachine(leftOfGeode, 'root')).toBe('');
  });

  it.each([
    ['an unknown option', '--fast', ':', 2, 'Unknown option: --fast.'],
    ['a relative prefix', '--prefix here', ':', 2, '--prefix needs an absolute path, not here.'],
    ['a folder of somebody else', '--prefix /usr', ':', 1, 'ann may not write to /usr.'],
    ['another architecture', '', 'PATH=/opt/riscv:$PATH', 1, 'this machine is riscv64.'],
    [
      'an absent registry',
      '',
      'npm_config_registry=http://127.0.0.1:9/',
      1,
      'The registry http://127.0.0.1:9 ',
    ],
    [
      'an unknown version',
      '--version 9.9.9',
      'PATH=/opt/tools:/usr/bin:/bin',
      1,
      'does not offer geode-home@9.9.9.',
    ],
    ['a machine without Node and without wget', '', 'PATH=/usr/bin:/bin', 1, 'curl or wget is needed'],
    [
      'a machine without Node and without network',
      '',
      'PATH=/opt/tools:/usr/bin:/bin npm_config_registry=http://127.0.0.1:9/',
      1,
      'could not be downloaded.',
    ],
    [
      'a Node with another content',
      '',
      'PATH=/opt/damaged:/usr/bin:/bin',
      1,
      'has another content than expected (its SHA-512 differs).',
    ],
    ['gVisor for a user', '--gvisor', ':', 2, 'Geode uses gVisor as root alone.'],
  ])('install.sh refuses %s, and leaves nothing half-installed', async (_, args, before, code, message) => {
    const { machine } = world();
    await addTools(machine);
    const there = await onMachine(leftOfGeode, 'user');
    const output = await install(args, 'user', before);
    expect(output).toContain(message);
    expect(output.split('\n').slice(-2)).toEqual([`code ${code}`, '']);
    expect(await onMachine(leftOfGeode, 'user')).toBe(there);
  });
}

/** Programs to put on the PATH: a wget, a `uname` of another architecture, a `wget` that brings other bytes, a `go` that fails. */
async function addTools(machine: string): Promise<void> {
  await locked('setup', () => installPackages(['busybox-static']));
  mkdirSync(join(machine, 'opt/tools'), { recursive: true });
  copyFileSync('/usr/bin/busybox', join(machine, 'opt/tools/wget'));
  const standIns = {
    'riscv/uname': 'if [ "$1" = -m ]; then echo riscv64; else echo Linux; fi',
    'damaged/wget': 'echo other bytes >"$3"',
    'go/go': 'echo no module proxy >&2; exit 1',
  };
  for (const [name, line] of Object.entries(standIns)) {
    const path = join(machine, 'opt', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n${line}\n`);
    chmodSync(path, 0o755);
  }
}

/** The package lists and packages that the tests fetched, so that apt-get needs no network if it can do without. */
async function offerPackages(machine: string): Promise<void> {
  copyFileSync('/etc/resolv.conf', join(machine, 'etc/resolv.conf'));
  const from = join(cacheFolder, 'packages');
  await locked('setup', async () => {
    cpSync(join(from, 'lists'), join(machine, 'var/lib/apt/lists'), { recursive: true });
    cpSync(join(from, 'archives'), join(machine, 'var/cache/apt/archives'), {
      recursive: true,
      filter: (path) => !path.endsWith('.deb') || /\/bubblewrap_[^/]+$/.test(path),
    });
  });
}
