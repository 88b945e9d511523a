/** The cost of a coding agent's turn in a sandbox, beyond the time of its program. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { userLine } from '../../src/agents/claude/claude-lines.ts';
import { claudeScene } from '../../test/agents/scenes.ts';
import { Stage } from '../../test/agents/stage.ts';
import { type AgentProgram, claudeCode } from '../../test/fixtures/agent-programs.ts';
import { compare, contender, observed } from '../measure.ts';
import {
  atLeast,
  atMost,
  type Bench,
  type Findings,
  nothingBecause,
  type Section,
  together,
} from '../section.ts';

export const agentsSection: Section = {
  name: 'agents',
  title: 'Turns of Claude Code in a sandbox, with a model that answers at once',
  async run(bench) {
    const program = await claudeCode();
    const parts: Findings[] = [];
    for (const wall of ['docker', 'bubblewrap'] as const) parts.push(await on(bench, wall, program));
    return together(...parts);
  },
};

const prompts = { work: 'write the file and read it', talk: 'say something' } as const;

async function on(bench: Bench, wall: 'docker' | 'bubblewrap', program: AgentProgram): Promise<Findings> {
  const scene = claudeScene(bench.engines, wall, program, { GEODE_CLAUDE_PERMISSIONS: 'all' });
  if (scene.unavailable !== undefined || !program.available)
    return nothingBecause(`${wall}: ${scene.unavailable}`);
  await using stage = await Stage.open(scene);
  await using bare = await bareClaude(join(program.folder, 'claude'), stage.server.url, bench.signal);
  const { agents, sandboxes } = stage.client;
  const { steps } = stage;
  // The same calls in both places.
  steps[prompts.work] = [
    {
      text: 'I write. ',
      calls: [{ tool: 'Bash', input: { command: 'echo one > one.txt', description: 'w' } }],
    },
    { text: 'I read. ', calls: [{ tool: 'Bash', input: { command: 'cat one.txt', description: 'r' } }] },
    { text: 'Done.' },
  ];
  steps[prompts.talk] = [{ text: 'Something.' }];

  const turn = async (chat: string, text: string) => {
    const began = performance.now();
    const last = (await stage.send(chat, text)).at(-1);
    if (last?.type !== 'result' || last.outcome !== 'done') throw new Error(JSON.stringify(last));
    return performance.now() - began;
  };
  /** The sandbox is there; the program is not. */
  const anew = async (text: string) => {
    await agents.stop('anew');
    return await turn('anew', text);
  };
  await turn('anew', prompts.talk);
  const whole = await compare(
    {
      name: `a turn with two commands, its program started for it, in ${wall}`,
      unit: 'ms',
      rounds: bench.rounds(12),
      ours: contender('Geode', () => anew(prompts.work)),
      others: [contender('the program alone on the host', () => bare.turn(prompts.work))],
    },
    bench.signal,
  );
  await turn('living', prompts.talk);
  const next = await compare(
    {
      name: `the next turn of a conversation, in ${wall}`,
      unit: 'ms',
      rounds: bench.rounds(20),
      ours: contender('Geode', () => turn('living', prompts.talk)),
      others: [contender('the program restarted on the host', () => bare.turn(prompts.talk))],
    },
    bench.signal,
  );
  const firsts: number[] = [];
  for (let round = 0; round < bench.rounds(8); round += 1) {
    bench.signal.throwIfAborted();
    const chat = `first-${round}`;
    const began = performance.now();
    for await (const event of agents.send(chat, { text: prompts.talk }, { driver: 'claude' }))
      if (event.type === 'text') {
        firsts.push(performance.now() - began);
        break;
      }
    await agents.stop(chat);
    await sandboxes.remove(chat);
  }
  const first = observed(
    `a message in a new chat up to the first words: sandbox, tools, settings and program, in ${wall}`,
    'ms',
    'Geode',
    firsts,
  );
  const overhead = Number((1 / (whole.others[0]?.ratio.times ?? Number.NaN)).toPrecision(4));
  return {
    comparisons: [whole, next, first],
    targets: [
      atMost(`a turn in ${wall} against the program alone`, 1.15, '×', overhead),
      atLeast(
        `the next turn in ${wall} against starting the program`,
        3,
        '×',
        next.others[0]?.ratio.times ?? Number.NaN,
      ),
      atMost(`the first words in a new chat in ${wall}`, 1_200, 'ms', first.ours.p50),
    ],
    leftOut: [],
  };
}

interface BareClaude extends AsyncDisposable {
  /** From the start of the program to its result. */
  turn(text: string): Promise<number>;
}

/** As a person would run it on the host, with the same model and nothing besides. */
async function bareClaude(program: string, url: string, signal: AbortSignal): Promise<BareClaude> {
  const folder = await mkdtemp(join(tmpdir(), 'geode-bare-'));
  const workspace = join(folder, 'workspace');
  await mkdir(workspace);
  const argv = [
    ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    ...['--include-partial-messages', '--setting-sources', '', '--permission-mode', 'bypassPermissions'],
    ...['--mcp-config', '{"mcpServers":{}}', '--strict-mcp-config', '--model', 'claude-sonnet-5-5'],
  ];
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, CLAUDE_CONFIG_DIR: join(folder, 'claude') },
    ...{ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'a-key' },
    ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', IS_SANDBOX: '1' },
  };
  return {
    async turn(text) {
      const began = performance.now();
      const child = spawn(program, [...argv, '--session-id', randomUUID()], {
        ...{ env, cwd: workspace, signal },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      const ended = new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
      child.stdin.write(userLine(text));
      let took = Number.NaN;
      for await (const line of createInterface(child.stdout)) {
        if (!line.includes('"type":"result"')) continue;
        if (line.includes('"is_error":true')) throw new Error(line);
        took = performance.now() - began;
        child.stdin.end();
      }
      await ended;
      return took;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
