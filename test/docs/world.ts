/**
 * A network of its own for the examples in the docs: example.com and the package registries are a server behind a cable,
 * with a certificate that sandboxes trust, and Ollama's port has a scripted model. No example reaches anything else.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { ConsoleCommand } from './console-blocks.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Public, so that the same rules hold for it as for the real one. It exists only in the network of the examples. */
const address = '93.184.215.14';
const ownAddress = '93.184.215.1';
const names = ['example.com', 'www.example.com', 'api.example.com'];
const START = '\u001e';
const END = '\u001f';

export interface CommandResult {
  readonly code: number;
  readonly output: string;
}

/** Why there can be no such network here, or null. */
export function reasonForNoWorld(): string | null {
  if (process.getuid?.() !== 0) return 'only root can make a network';
  for (const program of ['ip', 'unshare', 'nsenter', 'openssl', 'curl', 'python3'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0) return `${program} is not installed`;
  return null;
}

/** Runs the commands one after the other in one shell, in an empty home. A command that waits ends with the page. */
export async function runCommands(
  commands: readonly ConsoleCommand[],
  home: string,
  signal: AbortSignal,
): Promise<readonly CommandResult[]> {
  prepareHome(home);
  writeFileSync(join(home, '.page.sh'), scriptOf(commands));
  const child = spawn(
    'unshare',
    ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc', 'bash', '-c', worldScript],
    {
      cwd: home,
      env: {
        PATH: `${join(home, '.bin')}:${process.env.PATH}`,
        HOME: home,
        NO_COLOR: '1',
        GEODE_RUNTIME_NAME: 'bubblewrap',
        GEODE_SANDBOX_RUN_DIR: join(home, '.run'),
        GEODE_PROVIDERS_SERVICES: JSON.stringify({
          ollama: { kind: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1' },
        }),
        GEODE_PROVIDERS_DEFAULT: 'ollama/qwen3',
        WORLD_SERVER: `${process.execPath} ${join(root, 'test/docs/world-server.ts')}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      // `unshare` ignores SIGTERM while it waits. Its death ends all processes of the namespaces.
      killSignal: 'SIGKILL',
    },
  );
  const [output, problems] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const results = [...output.matchAll(new RegExp(`${START}([\\s\\S]*?)${END}(\\d+)\n`, 'g'))].map(
    (match) => ({
      output: match[1] ?? '',
      code: Number(match[2]),
    }),
  );
  if (results.length !== commands.length)
    throw new Error(`${results.length} of ${commands.length} commands ended.\n${output}\n${problems}`);
  return results;
}

function prepareHome(home: string): void {
  mkdirSync(join(home, '.bin'));
  // As npm links a command.
  symlinkSync(join(root, 'bin/geode.js'), join(home, '.bin/geode'));
  const subject = [
    '-subj',
    '/CN=example.com',
    '-addext',
    `subjectAltName=${names.map((name) => `DNS:${name}`)}`,
  ];
  const files = ['-keyout', join(home, '.world.key'), '-out', join(home, '.world.crt')];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files],
    {
      stdio: 'ignore',
    },
  );
  const trusted = readFileSync('/etc/ssl/certs/ca-certificates.crt', 'utf8');
  const own = readFileSync(join(home, '.world.crt'), 'utf8');
  writeFileSync(join(home, '.trusted.crt'), `${trusted}\n${own}`);
  // No name server answers there, so that other names fail at once.
  writeFileSync(join(home, '.resolv.conf'), 'nameserver 127.0.0.1\n');
  writeFileSync(join(home, '.hosts'), `127.0.0.1 localhost\n${address} ${names.join(' ')}\n`);
}

/** The first process of the namespaces: when it ends, all others in them do. */
const worldScript = `
set -e
ip link set lo up
unshare --net sleep infinity & far=$!
own=$(readlink /proc/self/ns/net)
while [ "$(readlink /proc/$far/ns/net)" = "$own" ]; do kill -0 $far; done
ip link add world type veth peer name home netns $far
ip address add ${ownAddress}/24 dev world
ip link set world up
nsenter --target $far --net ip address add ${address}/24 dev home
nsenter --target $far --net ip link set home up
mount --bind .hosts /etc/hosts
mount --bind .resolv.conf /etc/resolv.conf
mount --bind .trusted.crt /etc/ssl/certs/ca-certificates.crt
exec 3< <(exec nsenter --target $far --net $WORLD_SERVER web) && read -r _ <&3
exec 4< <(exec $WORLD_SERVER model) && read -r _ <&4
unset WORLD_SERVER
exec 3<&- 4<&-
set +e
bash .page.sh
geode sandbox rm $(geode sandbox ls --json | grep -o '"id": *"[^"]*' | cut -d'"' -f4) >/dev/null 2>&1
geode host stop >/dev/null 2>&1
# A gateway of the page removes the sandboxes that it keeps ready when it ends by itself.
gateways() { grep -lszx 'gatewa[y]' /proc/[0-9]*/cmdline | cut -d/ -f3; }
kill $(gateways) 2>/dev/null
for _ in $(seq 1200); do [ -z "$(gateways)" ] && break; sleep 0.1; done
`;

function scriptOf(commands: readonly ConsoleCommand[]): string {
  const parts = commands.map(
    ({ text: command }) => `printf '${START}'\n{ ${command}\n} 2>&1 </dev/null\nprintf '${END}%d\\n' $?\n`,
  );
  return `${parts.join('')}`;
}
