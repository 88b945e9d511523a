/** Replies to people when the agent in a sandbox, or the sandbox, ends before it answers; and refusals of a start. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ChatEvent } from '../../src/seams/chat.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { type AgentWorld, agentWorld, answerOf, running } from '../contracts/chat-agents.ts';
import { dockerSettings } from '../fixtures/docker-settings.ts';
import { hostWorld } from '../host/world.ts';

const { bubblewrap, docker } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const inside = { GEODE_RUNTIME_NAME: 'bubblewrap', GEODE_CONTAINER_AGENT_ENABLED: 'true' };
const shell = (command: string) => ({ tool: 'shell', input: { command } });
/** The agent is the parent of its commands; a file keeps the command policy out of it. */
const script = (content: string) => [
  { tool: 'write_file', input: { path: 'deed.sh', content } },
  shell('sh deed.sh $PPID'),
];

describe.skipIf(!bubblewrap.available)(`agents that end${skipped}`, { timeout: 240_000 }, () => {
  let here: AgentWorld;
  beforeAll(async () => {
    here = await agentWorld({
      ...inside,
      GEODE_CONTAINER_AGENT_MEMORY: '256m',
    });
  }, 240_000);
  afterAll(() => here?.[Symbol.asyncDispose](), 120_000);

  it('CA-4: reports a crash, keeps the message and tries it once more', async () => {
    const { steps, say } = here;
    steps['crash once'] = [
      { text: '', calls: script('test -e crashed && exit 0; touch crashed; kill -9 $1') },
      { text: 'Better now.' },
    ];
    const events = await say('once', 'crash once');
    expect(repliesOf(events)).toEqual([
      'The agent crashed before it answered (SIGKILL). Your message is kept and tried once more.',
      'Better now.',
    ]);
    steps['and after'] = [{ text: 'I am here.' }];
    expect(answerOf(await say('once', 'and after'))).toBe('I am here.');
  });

  it('CA-4: a second crash fails the message with its reason, and the chat accepts the next one', async () => {
    const { steps, say } = here;
    steps['crash always'] = [{ text: '', calls: script('kill -9 $1') }];
    const events = await say('always', 'crash always');
    expect(repliesOf(events)).toEqual([
      expect.stringContaining('tried once more'),
      expect.stringMatching(/^Failed: The agent crashed before it answered \(SIGKILL\)\./),
    ]);
    steps['and after'] = [{ text: 'I am here.' }];
    expect(answerOf(await say('always', 'and after'))).toBe('I am here.');
  });

  it('CA-4: reports the reason of a turn that takes too long or runs out of memory', async () => {
    const { steps, say } = here;
    // A machine under load may need half a minute for a turn: only this one has little time.
    await using hasty = await agentWorld({ ...inside, GEODE_CONTAINER_AGENT_TIMEOUT: '40' });
    hasty.steps['sleep on'] = [
      { text: '', calls: script('test -e slept && exit 0; touch slept; sleep 600') },
      { text: 'Awake.' },
    ];
    // The kernel takes the one with the highest score: the agent.
    steps['eat it all'] = [
      {
        text: '',
        calls: script(
          'test -e ate && exit 0; touch ate; echo 1000 > /proc/$1/oom_score_adj; python3 -c "b=bytearray(400*1024*1024)"',
        ),
      },
      { text: 'Full.' },
    ];
    const [slept, ate] = await Promise.all([hasty.say('slow', 'sleep on'), say('hungry', 'eat it all')]);
    expect(repliesOf(slept)).toEqual([
      expect.stringMatching(/^The agent exceeded the timeout of one turn: \d+ s\..* tried once more\.$/),
      'Awake.',
    ]);
    expect(repliesOf(ate)).toEqual([
      'The sandbox of the agent ran out of memory. Your message is kept and tried once more.',
      'Full.',
    ]);
  });

  it('CA-1, CA-4: an agent continues when its host ends, and the next host reads its answer', async () => {
    const { steps, say, client, world } = here;
    steps['work on'] = [
      { text: 'I begin.', calls: [shell('while [ ! -e go ]; do sleep 0.1; done; echo went')] },
      { text: 'It is done.' },
    ];
    const asked = say('long', 'work on').catch(() => []);
    await running(client, 'long', 'while [ ! -e go ]');
    await using next = await here.restart();
    await next.client.sandboxes.of('long').files.write('go', '');
    const events = await next.until('long', (event) => event.type === 'reply' && event.isLast);
    expect(repliesOf(events)).toEqual(['It is done.']);
    await asked;
    expect(world.warnings).toEqual([]);
  });
});

describe('geode gateway --containerized refuses', { timeout: 120_000 }, () => {
  const start = async (settings: Readonly<Record<string, string>>) => {
    await using world = hostWorld(settings);
    const run = promisify(execFile)(
      process.execPath,
      [geodeProgram, 'gateway', '--containerized', '--port', '0'],
      { env: world.env, timeout: 100_000 },
    );
    return await run.then(
      () => 'started',
      ({ code, stderr }) => `${code}: ${stderr}`,
    );
  };

  it('CA-4: a runtime without isolation, and a missing engine', async () => {
    expect(await start({ GEODE_RUNTIME_NAME: 'native' })).toMatch(
      /^1: [\s\S]*native runtime has no walls[\s\S]*geode\S* doctor/,
    );
    const nowhere = { GEODE_RUNTIME_NAME: 'docker', GEODE_DOCKER_HOST: 'unix:///nowhere/docker.sock' };
    expect(await start(nowhere)).toMatch(/^1: [\s\S]*docker/);
  });

  it.skipIf(!docker.available)('CA-4: a missing image, with the command that builds it', async () => {
    const settings = {
      ...dockerSettings(docker),
      GEODE_CONTAINER_AGENT_IMAGE: 'localhost/geode/agent:missing',
    };
    expect(await start(settings)).toMatch(/^1: [\s\S]*is not on docker[\s\S]*geode\S* image build agent/);
  });

  it.skipIf(!bubblewrap.available)(
    'CA-4: a program of another version; CA-1: a forbidden mount',
    async () => {
      await using world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap' });
      const program = join(world.folder, 'agent-stdin.mjs');
      writeFileSync(program, 'console.log("0.0.9")\n');
      const mounts = JSON.stringify([{ source: program, target: '/opt/old/agent-stdin.mjs' }]);
      const old = {
        GEODE_RUNTIME_NAME: 'bubblewrap',
        GEODE_CONTAINER_AGENT_PROGRAM: '/opt/old/agent-stdin.mjs',
        GEODE_CONTAINER_AGENT_MOUNTS: mounts,
      };
      expect(await start(old)).toMatch(/^1: [\s\S]*mount[\s\S]*refused/);
      const allowed = { ...old, GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([world.folder]) };
      expect(await start(allowed)).toMatch(/^1: [\s\S]*version 0\.0\.9, this host[\s\S]*npm run agent/);
    },
  );
});

function repliesOf(events: readonly ChatEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'reply' ? [event.text] : []));
}
