import { expect, inject, it } from 'vitest';
import { z } from 'zod';
import { agentFailures, agentForks, agentTurns } from '../contracts/agent-driver.ts';
import { claudeAcp } from '../fixtures/agent-programs.ts';
import { acpScene } from './scenes.ts';
import { Stage } from './stage.ts';

const scene = acpScene(inject('engines'), 'bubblewrap', await claudeAcp());

agentTurns(scene, (stage) => {
  agentForks(scene, stage);
  agentFailures(scene, stage);

  it('AGT-5: the first request of the first turn offers the tools of the host', async () => {
    stage().steps['what can you do'] = [{ text: 'A lot.' }];
    await stage().send('begins', 'what can you do');
    const offers = stage().server.calls.flatMap(({ prompt, body }) =>
      prompt.includes('what can you do') ? [toolsIn(body)] : [],
    );
    // Requests without any tool are for the title of the conversation.
    expect(offers.find((tools) => tools.length > 0)).toContain('mcp__geode__memory_store');
  });

  it('AGT-5: reloads the session after its program ends, and does not repeat earlier messages', async () => {
    const { steps, server, client } = stage();
    steps['the number is 41'] = [{ text: 'Noted.' }];
    steps['add one to it'] = [{ text: 'That is 42.' }];
    await stage().send('loads', 'the number is 41');
    await client.sandboxes.stop('loads');
    const events = await stage().send('loads', 'add one to it');
    expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')).toBe(
      'That is 42.',
    );
    // The last request may be the one for the title of the conversation.
    const prompts = server.calls.map(({ prompt }) => prompt);
    const whole = /the number is 41[\s\S]*Noted\.[\s\S]*add one to it/;
    expect(prompts).toContainEqual(expect.stringMatching(whole));
    expect(await client.agents.stop('loads')).toBe(true);
    expect(await stage().running('loads')).toBe('[[],[]]');
  });
});

function toolsIn(body: unknown): readonly string[] {
  const { data } = z.object({ tools: z.array(z.looseObject({ name: z.string() })) }).safeParse(body);
  return data?.tools.map(({ name }) => name) ?? [];
}

const { bubblewrap } = inject('engines');

it.skipIf(!bubblewrap.available)(
  `ends an agent that never starts, and reports its last output${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  async () => {
    await using stage = await Stage.open({
      driver: 'acp:silent',
      settings: (server) => ({
        ...acpScene(inject('engines'), 'bubblewrap', { available: true, folder: '' }).settings(server),
        GEODE_ACP_BEGIN: '10',
        GEODE_ACP_AGENTS: JSON.stringify({
          silent: {
            command: [
              '/bin/sh',
              '-c',
              'echo "loading plugins"; echo "no licence found" >&2; exec cat >/dev/null',
            ],
            upstream: server.url,
          },
        }),
      }),
      secret: 'anthropic',
    });
    const last = (await stage.send('silent', 'hello')).at(-1);
    expect(last).toMatchObject({ type: 'error', code: 'agent_unavailable' });
    expect(last).toMatchObject({
      message: expect.stringMatching(/initialize within 10 s[\s\S]*loading plugins[\s\S]*no licence found/),
    });
    expect(await stage.running('silent')).toBe('[[],[]]');
  },
);
