import { expect, inject, it } from 'vitest';
import { agentFailures, agentTurns } from '../contracts/agent-driver.ts';
import { claudeAcp } from '../fixtures/agent-programs.ts';
import { acpScene } from './scenes.ts';

const scene = acpScene(inject('engines'), 'bubblewrap', await claudeAcp());

agentTurns(scene, (stage) => {
  agentFailures(scene, stage);

  it('AGT-5: after the end of its program the session is loaded again, and what was said is not told twice', async () => {
    const { steps, server, client } = stage();
    steps['the number is 41'] = [{ text: 'Noted.' }];
    steps['add one to it'] = [{ text: 'That is 42.' }];
    await stage().send('loads', 'the number is 41');
    await client.sandboxes.stop('loads');
    const events = await stage().send('loads', 'add one to it');
    expect(events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')).toBe(
      'That is 42.',
    );
    expect(server.calls.at(-1)?.prompt).toMatch(/the number is 41[\s\S]*Noted\.[\s\S]*add one to it/);
    expect(await client.agents.stop('loads')).toBe(true);
    expect(await stage().running('loads')).toBe('[[],[]]');
  });
});
