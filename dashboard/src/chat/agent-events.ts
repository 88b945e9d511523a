import type { AgentEvent, DriverName } from '../../../src/seams/agent.ts';

export type { AgentEvent };

/** The agents that every host knows. */
export const driverNames: readonly DriverName[] = ['builtin', 'claude', 'codex'];

const driverTitles: Readonly<Record<string, string>> = {
  builtin: 'Geode',
  claude: 'Claude Code',
  codex: 'Codex',
};

export function driverText(driver: string): string {
  return driverTitles[driver] ?? driver.replace(/^acp:/, '');
}

/** Tokens that the agent read in its last step: the conversation as it is sent to the model. */
export function contextOf(events: readonly AgentEvent[]): number | undefined {
  const last = events.findLast((event) => event.type === 'usage');
  return last?.type === 'usage' && last.usage.inputTokens > 0 ? last.usage.inputTokens : undefined;
}

/** Pieces of text and thinking that follow each other are one event. An answer that restarts replaces its pieces. */
export function joined(before: readonly AgentEvent[], event: AgentEvent): readonly AgentEvent[] {
  if (event.type === 'answer-restart') return before.slice(0, before.findLastIndex(isDone) + 1);
  const last = before.at(-1);
  if (event.type !== 'text' && event.type !== 'thinking') return [...before, event];
  if (last?.type !== event.type || last.turn !== event.turn) return [...before, event];
  return [...before.slice(0, -1), { ...last, text: last.text + event.text }];
}

function isDone({ type }: AgentEvent): boolean {
  return type !== 'text' && type !== 'thinking';
}
