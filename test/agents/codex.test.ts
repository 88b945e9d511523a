import { inject } from 'vitest';
import { agentFailures, agentTurns } from '../contracts/agent-driver.ts';
import { codex } from '../fixtures/agent-programs.ts';
import { codexScene } from './scenes.ts';

const scene = codexScene(inject('engines'), 'bubblewrap', await codex());

agentTurns(scene, (stage) => agentFailures(scene, stage));
