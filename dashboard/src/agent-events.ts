import type { AgentEvent, DriverName } from '../../src/seams/agent.ts';

export type { AgentEvent };

const known: Readonly<Record<DriverName, true>> = { builtin: true, claude: true, codex: true };

/** As the host has them. */
export const driverNames = Object.keys(known).filter((name): name is DriverName => name in known);

export type Shown = Exclude<AgentEvent, { type: 'text' | 'thinking' }> | Spoken;

interface Spoken {
  readonly type: 'text' | 'thinking';
  readonly seq: number;
  readonly text: string;
}

/** Pieces that belong together are one; an answer that begins anew takes the place of what was said of it. */
export function joined(before: readonly Shown[], event: AgentEvent): readonly Shown[] {
  if (event.type === 'answer-restart') return before.slice(0, before.findLastIndex(isDone) + 1);
  const last = before.at(-1);
  if (event.type !== 'text' && event.type !== 'thinking') return [...before, event];
  if (last?.type !== event.type) return [...before, event];
  return [...before.slice(0, -1), { type: event.type, seq: last.seq, text: last.text + event.text }];
}

function isDone({ type }: Shown): boolean {
  return type !== 'text' && type !== 'thinking';
}
