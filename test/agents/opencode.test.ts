import { expect, inject, it } from 'vitest';
import { agentTurns } from '../contracts/agent-driver.ts';
import { opencode } from '../fixtures/agent-programs.ts';
import { opencodeScene } from './scenes.ts';

const scene = opencodeScene(inject('engines'), 'bubblewrap', await opencode());

agentTurns(scene, (stage) => {
  it('asks a person about a command; denial ends its turn, permission runs it', async () => {
    stage().steps['touch a file'] = [
      { text: '', calls: [scene.run('touch a.txt')] },
      { text: 'That was it.' },
    ];
    const denied = await stage().send('asks', 'touch a file', { permit: () => 'deny' });
    expect(denied.at(-1)).toMatchObject({ type: 'result', outcome: 'done' });
    expect(await stage().client.sandboxes.of('asks').files.exists('a.txt')).toBe(false);
    const allowed = await stage().send('asks', 'please touch a file', { permit: () => 'once' });
    expect(allowed.at(-1)).toMatchObject({ type: 'result', text: 'That was it.' });
    expect(await stage().client.sandboxes.of('asks').files.exists('a.txt')).toBe(true);
  });
});
