import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { namedHost } from '../../src/machine/named-host.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { type ModelCall, type Script, startModelServer } from '../fixtures/model-server/model-server.ts';
import { startTelegram, type TelegramServer, telegramToken } from '../fixtures/telegram-server.ts';
import { type HostWorld, hostWorld } from '../host/world.ts';

export interface GatewayWorld extends AsyncDisposable {
  readonly telegram: TelegramServer;
  readonly world: HostWorld;
  /** Starts `geode gateway`, or starts it again after it was killed; `nodeArgs` are for Node itself. */
  start(nodeArgs?: readonly string[]): Promise<ChildProcessWithoutNullStreams>;
  geode(args: readonly string[], input?: string): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Lines for a shell in which `geode` is this one. */
  shell(lines: string): Promise<{ code: number; stdout: string; stderr: string }>;
  client(): GeodeClient;
  /** The log lines of the gateway. */
  readonly log: string[];
}

/** A gateway in a process of its own, with the real agent, a scripted model and a Telegram of our own. */
export async function gatewayWorld(
  script: Script,
  allow: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
  shared?: TelegramServer,
): Promise<GatewayWorld> {
  await using opened = new AsyncDisposableStack();
  const telegram = shared ?? opened.use(await startTelegram());
  const model = opened.use(await startModelServer(script, { keepsCalls: false }));
  const world = opened.use(
    hostWorld({
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'anthropic', base_url: `${model.url}/v1`, api_key: 'the-key-of-the-provider' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      GEODE_CHANNELS_TELEGRAM: JSON.stringify({ api_url: telegram.url, allow }),
      ...more,
    }),
  );
  const log: string[] = [];
  const run = (args: readonly string[], nodeArgs: readonly string[] = []) =>
    spawn(process.execPath, [...nodeArgs, geodeProgram, ...args], { env: world.env });
  const outcome = async (child: ChildProcessWithoutNullStreams, input: string) => {
    child.stdin.end(input);
    const exit = once(child, 'close');
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
    return { code, stdout, stderr };
  };
  const geode: GatewayWorld['geode'] = (args, input = '') => outcome(run(args), input);
  const shell: GatewayWorld['shell'] = (lines) => {
    const program = `geode() { '${process.execPath}' '${geodeProgram}' "$@"; }`;
    return outcome(spawn('sh', ['-euc', `${program}\n${lines}`], { env: world.env }), '');
  };
  const set = await geode(['secrets', 'set', 'telegram'], telegramToken);
  if (set.code !== 0) throw new Error(set.stderr);
  const all = opened.move();
  return {
    telegram,
    world,
    log,
    geode,
    shell,
    async start(nodeArgs) {
      const child = run(['gateway', '--port', '0', '--json'], nodeArgs);
      all.defer(() => ended(child, 'SIGTERM'));
      child.stderr.setEncoding('utf8').on('data', (piece: string) => log.push(piece));
      for await (const line of createInterface({ input: child.stdout }))
        if (line.startsWith('{')) return child;
      throw new Error(`the gateway said nothing: ${log.join('')}`);
    },
    client: () => createClient(unixTransport(namedHost(world.machine.stateDir)?.serves?.api ?? '')),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export async function ended(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const over = once(child, 'exit');
  child.kill(signal);
  const late = setTimeout(() => child.kill('SIGKILL'), 30_000);
  await over;
  clearTimeout(late);
}

/** The person's last message, as the model reads it. */
export function lastSaid({ body }: ModelCall): string {
  const { messages = [] } = body as { messages?: { role: string; content: unknown }[] };
  const own = messages.findLast(({ role }) => role === 'user')?.content;
  if (typeof own === 'string') return own;
  const parts = Array.isArray(own) ? own : [];
  return parts.map((part: { text?: string }) => part.text ?? '').join('');
}
