import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { approvalChapter } from '../../src/approvals/approval-table.ts';
import { openApprovals } from '../../src/approvals/open-approvals.ts';
import { noLog } from '../../src/base/log.ts';
import { createClient } from '../../src/client/client.ts';
import { EventLog, eventChapter } from '../../src/ledger/event-log.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { openServers } from '../../src/mcp/servers/open-servers.ts';
import { openToolSessions } from '../../src/mcp/sessions/open-sessions.ts';
import { toolChapter } from '../../src/mcp/sessions/tables.ts';
import { defineTool } from '../../src/mcp/tool.ts';
import type { PersistentSandbox } from '../../src/seams/persistent.ts';
import { sandboxWorld } from '../../test/sandboxes/world.ts';
import { compare, contender, observed } from '../measure.ts';
import { atLeast, atMost, type Bench, type Findings, type Section, together } from '../section.ts';
import { whyNot } from './place.ts';

const client = fileURLToPath(new URL('mcp-client.py', import.meta.url));
const server = fileURLToPath(new URL('echo-server.ts', import.meta.url));
const calls = 2_000;
const atOnce = 32;
/** The load of one session while another one is measured. */
const sustained = { calls: 1_000, atOnce: 10, perSecond: 1_000 };
const unlimited = { perMinute: 1e9, burst: 1e9 };

export const mcpSection: Section = {
  name: 'mcp',
  title: 'A call from a program in a sandbox to a tool of the host',
  async run(bench) {
    const parts: Findings[] = [];
    for (const name of ['docker', 'bubblewrap'] as const) {
      const missing = whyNot(bench, name);
      parts.push(
        missing === undefined
          ? await from(bench, name)
          : { comparisons: [], targets: [], leftOut: [missing] },
      );
    }
    return together(...parts);
  },
};

async function from(bench: Bench, name: 'docker' | 'bubblewrap'): Promise<Findings> {
  const { docker } = bench.engines;
  await using opened = new AsyncDisposableStack();
  const world = opened.use(await sandboxWorld(name, docker.available ? { dockerSocket: docker.socket } : {}));
  const ledger = opened.use(
    new Ledger(join(world.options.stateDir, 'ledger.db'), [approvalChapter, eventChapter, toolChapter]),
  );
  // As on a host, every call sends an event too.
  const events = new EventLog(ledger);
  const tools = opened.use(
    openToolSessions({
      servers: openServers([], { version: 'test', log: noLog }),
      ledger,
      tools: [echo],
      initial: ['echo'],
      rules: {
        rate: unlimited,
        timeoutMs: 60_000,
        askTimeoutMs: 60_000,
        schedules: 'ask',
        mostSchedules: 10,
      },
      auditLimits: { mostRecords: 100_000, keepMs: 3_600_000 },
      client: async () => nobody,
      events,
      log: noLog,
      version: 'bench',
      approvals: opened.use(openApprovals({ ledger, events })),
    }),
  );
  const mine = (await world.host({ tools })).of('bench');
  const callerOf = async (chat: string) => {
    const sandbox = await mine.getOrCreate(chat);
    const { place } = await tools.open(sandbox);
    return opened.use(await inside(sandbox, place.socket));
  };
  const caller = await callerOf('calls');
  const plain = opened.use(onHost());
  const single = await compare(
    {
      name: `a call and its answer, from ${name}`,
      unit: 'ms',
      rounds: bench.rounds(1_000),
      ours: contender('Geode', () => caller.time(1, 1)),
      others: [contender('the same tool over plain stdio on the host', () => plain.time(1, 1))],
    },
    bench.signal,
  );
  const neighbour = await callerOf('neighbour');
  const steady = await beside(neighbour, bench, () =>
    caller.time(sustained.calls, sustained.atOnce, sustained.perSecond),
  );
  const flood = await beside(neighbour, bench, () => caller.time(calls, atOnce));
  const rate = (count: number, times: readonly number[]) => times.map((ms) => (count / ms) * 1000);
  const held = observed(
    `calls of one session that makes ${sustained.perSecond} a second, from ${name}`,
    'calls/s',
    'Geode',
    rate(sustained.calls, steady.times),
  );
  const other = observed(
    `a call of another session at the same time, from ${name}`,
    'ms',
    'Geode',
    steady.others,
  );
  const flooded = observed(
    `calls of one session, ${atOnce} at once, from ${name}`,
    'calls/s',
    'Geode',
    rate(calls, flood.times),
  );
  const besides = observed(
    `a call of another session beside these, from ${name}`,
    'ms',
    'Geode',
    flood.others,
  );
  return {
    comparisons: [single, held, other, flooded, besides],
    targets: [
      atMost(`tool call from ${name}, p50`, 2, 'ms', single.ours.p50),
      atMost(`tool call from ${name}, p99`, 6, 'ms', single.ours.p99),
      atLeast(`tool calls of one session from ${name}`, 1_000, 'calls/s', flooded.ours.p50),
      atMost(
        `tool call from ${name} beside a session that makes 1,000 a second, p99`,
        6,
        'ms',
        other.ours.p99,
      ),
    ],
    leftOut: [],
  };
}

/** The time of each call, and the calls of the other session at the same time. */
async function beside(neighbour: Caller, bench: Bench, work: () => Promise<number>) {
  const times: number[] = [];
  const others: number[] = [];
  for (let round = 0; round < bench.rounds(10); round += 1) {
    bench.signal.throwIfAborted();
    let isOver = false;
    const busy = work().finally(() => {
      isOver = true;
    });
    while (!isOver) others.push(await neighbour.time(1, 1));
    times.push(await busy);
  }
  return { times, others };
}

const input = z.strictObject({ text: z.string() });
const echo = defineTool({
  name: 'echo',
  title: 'Echo',
  description: 'Says the same.',
  effect: 'reads',
  input,
  run: async ({ text }) => ({ text }),
});

interface Caller extends AsyncDisposable {
  /** Of that many calls together, seen from the program that makes them. */
  time(count: number, atOnce: number, perSecond?: number): Promise<number>;
}

async function inside(sandbox: PersistentSandbox, socket: string): Promise<Caller> {
  await sandbox.files.write('client.py', await readFile(client));
  const process = await sandbox.spawn({
    argv: ['python3', 'client.py', 'socket', socket],
    interactive: true,
    timeoutMs: null,
  });
  const lines = linesOf(process);
  return {
    async time(count, parallel, perSecond) {
      await process.write(`${count} ${parallel} ${perSecond ?? ''}\n`);
      return next(lines);
    },
    [Symbol.asyncDispose]: () => process.kill().catch(() => {}),
  };
}

async function* linesOf(
  process: AsyncIterable<{ type: string; bytes?: Uint8Array }>,
): AsyncGenerator<string> {
  let rest = '';
  for await (const { type, bytes } of process) {
    if (type !== 'stdout' || bytes === undefined) continue;
    const lines = (rest + Buffer.from(bytes).toString()).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

function onHost(): Caller {
  const child = spawn('python3', [client, 'stdio', process.execPath, server], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    time(count, parallel) {
      child.stdin.write(`${count} ${parallel}\n`);
      return next(lines);
    },
    async [Symbol.asyncDispose]() {
      const over = once(child, 'exit');
      child.stdin.end();
      await over;
    },
  };
}

async function next(lines: AsyncIterator<string>): Promise<number> {
  const { value, done } = await lines.next();
  if (done) throw new Error('The client in the sandbox has ended');
  return z.number().parse(JSON.parse(value));
}

/** The tool asks for nothing of the API. */
const nobody = createClient({ url: 'http://127.0.0.1:9' });
