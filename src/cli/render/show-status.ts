/** Sandboxes that stay, as people see them. */
import { styleText } from 'node:util';
import type { SandboxStatus } from '../../seams/persistent.ts';
import type { CliContext } from '../command.ts';
import { shownName } from '../input/chat-name.ts';
import { agoText, spanText } from './ages.ts';
import { printableLine } from './printable.ts';
import { table } from './table.ts';

const colours = {
  running: 'green',
  paused: 'cyan',
  hibernated: 'blue',
  stopped: 'dim',
  unknown: 'yellow',
} as const satisfies Record<SandboxStatus['state'], string>;

export function statusTable(statuses: readonly SandboxStatus[], now = Date.now()): readonly string[] {
  const header = ['SANDBOX', 'STATE', 'RUNTIME', 'GRADE', 'ACTIVE', 'CREATED', 'KEPT', 'ID', 'LABELS'];
  return table([header, ...statuses.map((status) => row(status, now))]).map((line) => line.trimEnd());
}

function row(status: SandboxStatus, now: number): readonly string[] {
  const { state, runtime, grade = '?', image, activeAt, createdAt, keptUntil, id, labels } = status;
  return [
    shownName(status),
    styleText(colours[state], state),
    image === null ? runtime : `${runtime} ${printableLine(image)}`,
    grade,
    agoText(activeAt, now),
    agoText(createdAt, now),
    keptUntil > now ? `${spanText(keptUntil - now)} more` : '-',
    id,
    Object.entries(labels)
      .map(([name, value]) => `${name}=${printableLine(value)}`)
      .join(' '),
  ];
}

/** One sandbox that something was done to. */
export function showStatus(status: SandboxStatus, { json, out }: Pick<CliContext, 'json' | 'out'>): void {
  const { state, runtime, grade = 'not known' } = status;
  const line = `${shownName(status)}: ${state}, runtime ${runtime}, isolation grade ${grade}`;
  out(json ? JSON.stringify(status) : line);
}
