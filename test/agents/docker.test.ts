import { inject } from 'vitest';
import { agentTurns } from '../contracts/agent-driver.ts';
import { claudeCode, codex } from '../fixtures/agent-programs.ts';
import { claudeScene, codexScene } from './scenes.ts';

const engines = inject('engines');

agentTurns(claudeScene(engines, 'docker', await claudeCode()));
agentTurns(codexScene(engines, 'docker', await codex()));
