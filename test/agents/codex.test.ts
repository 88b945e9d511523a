import { inject } from 'vitest';
import { agentFailures, agentForks, agentTurns } from '../contracts/agent-driver.ts';
import { codex } from '../fixtures/agent-programs.ts';
import { codexScene } from './scenes.ts';

const scene = codexScene(inject('engines'), 'bubblewrap', await codex());

agentTurns(scene, (stage) => {
  agentForks(scene, stage);
  agentFailures(scene, stage);
});
