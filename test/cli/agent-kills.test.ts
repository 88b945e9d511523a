import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { AgentEvent } from '../../src/seams/agent.ts';
import { acpScene, claudeScene, codexScene } from '../agents/scenes.ts';
import { claudeAcp, claudeCode, codex } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { generator } from '../fixtures/random.ts';
import { patience, patiently, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const wanted = process.env.GEODE_TEST_CLAUDE_KILLS;
const seed = Number(process.env.GEODE_TEST_SEED ?? Date.now() % 1_000_000);
const engines = inject('engines');
const scenes = [
  { usual: 6, ...claudeScene(engines, 'bubblewrap', await claudeCode()) },
  { usual: 2, ...codexScene(engines, 'bubblewrap', await codex()) },
  { usual: 2, ...acpScene(engines, 'bubblewrap', await claudeAcp()) },
];

const wordsOf = (round: number) => `round-${String(round).padStart(4, '0')}`;
const answerOf = (round: number) => `The note number ${round} is written, and nothing else was to do.`;

describe.each(scenes)('killed hosts and $name', patience, ({ usual, ...scene }) => {
  const rounds = Number(wanted ?? usual);
  const skipped = scene.unavailable === undefined ? '' : ` (skipped: ${scene.unavailable})`;
  let server: ModelServer;
  let home: SandboxHome;
  const steps: Record<string, Reply[]> = {};
  const given: Reply[] = [];
  const firstKill = Promise.withResolvers<void>();

  beforeAll(async () => {
    const script = agentScript(steps);
    // The first kill finds its turn at work for certain: until then the model answers no request of a round.
    server = await startModelServer(async (call, number) => {
      const reply = await script(call, number);
      given.push(reply);
      if (Object.values(steps).flat().includes(reply)) await firstKill.promise;
      return reply;
    });
    home = await sandboxHome(scene.settings(server));
    await home.ok(['secrets', 'set', scene.secret ?? ''], 'a-key-for-the-test\n');
  }, 240_000);
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 120_000);

  const log = async (chat: string, after: number): Promise<readonly AgentEvent[]> => {
    const lines = (await home.ok(['agent', 'log', chat, '--json', '--after', String(after)])).trim();
    return lines === '' ? [] : lines.split('\n').map((line): AgentEvent => JSON.parse(line));
  };
  /** Requests of a round; `ends` are those for its last answer. */
  const asked = (round: number) => {
    const all = given.filter((reply) => steps[wordsOf(round)]?.some((each) => each === reply));
    return { all: all.length, ends: all.filter((reply) => steps[wordsOf(round)]?.at(-1) === reply).length };
  };

  const title = `AGT-4: every turn ends once, however near to its end the host is killed (${rounds} kills, seed ${seed})${skipped}`;
  it.skipIf(scene.unavailable !== undefined)(title, { timeout: 120_000 + rounds * 60_000 }, async () => {
    const random = generator(seed);
    const seen: { readonly round: number; readonly ends: number; readonly resumed: boolean }[] = [];
    let after = 0;
    for (let round = 0; round < rounds; round += 1) {
      // Half of the kills are spread over the whole turn, the other half over the part after its last answer.
      const isLate = round % 2 === 1;
      const isEarly = round % 4 === 2;
      // A kill of the first kind finds the turn at work: its answer takes longer than the longest wait. An ACP agent
      // begins more slowly, and asks up to three times for an answer that is cut in the middle (docs/reliability.md).
      const pauseMs = isLate || scene.driver.startsWith('acp:') ? 5 : 60;
      steps[wordsOf(round)] = [
        { text: 'I write. ', calls: [scene.write('note.txt', `written in ${round}\n`)], pauseMs: 5 },
        { text: answerOf(round), pieceLength: 5, pauseMs },
      ];
      const chat = 'kills';
      const child = home.start('agent', '--driver', scene.driver, '--chat', chat, '-m', wordsOf(round));
      const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
      const hasBegun = async () =>
        isEarly
          ? (await log(chat, after).catch(() => [])).length > 0
          : asked(round)[isLate ? 'ends' : 'all'] > 0;
      await patiently(hasBegun, `the model of ${wordsOf(round)}`);
      const waitMs = Math.floor(random() * (isLate ? 250 : 600));
      await Promise.race([delay(waitMs), isLate ? delay(waitMs) : closed]);
      process.kill((await home.host()).pid, 'SIGKILL');
      firstKill.resolve();
      child.kill('SIGKILL');
      await closed;
      const events = await patiently(
        async () => {
          const all = await log(chat, after).catch(() => []);
          return ['result', 'error'].includes(all.at(-1)?.type ?? '') && all;
        },
        `the end of ${wordsOf(round)}`,
      );
      const last = events.at(-1);
      seen.push({
        ...{ round, ends: asked(round).ends },
        resumed: events.some(({ type }) => type === 'turn-resume'),
      });
      expect(last, wordsOf(round)).toMatchObject({ type: 'result', text: answerOf(round) });
      after = last?.seq ?? after;
    }
    // A request that is cut by a kill is made once more, and no other. The program of ACP repeats it itself, too.
    const mostRequests = scene.driver.startsWith('acp:') ? 4 : 2;
    expect(Math.max(...seen.map(({ ends }) => ends))).toBeLessThanOrEqual(mostRequests);
    expect(seen[0]?.resumed).toBe(true);
  });
});
