/** Sandboxes that stay, as people see them. */
import { styleText } from 'node:util';
import type { SandboxStatus, SandboxUsage } from '../../seams/persistent.ts';
import type { CliContext } from '../command.ts';
import { shownName } from '../input/chat-name.ts';
import { agoText, spanText } from './ages.ts';
import { printableLine } from './printable.ts';
import { sizeText } from './sizes.ts';
import { table } from './table.ts';

const colours = {
  running: 'green',
  paused: 'cyan',
  hibernated: 'blue',
  stopped: 'dim',
  unknown: 'yellow',
} as const satisfies Record<SandboxStatus['state'], string>;

/** `wide` adds ids and times. */
export function statusTable(
  statuses: readonly SandboxStatus[],
  { wide = false, now = Date.now() }: { readonly wide?: boolean; readonly now?: number } = {},
): readonly string[] {
  const header = [
    'NAME',
    'STATE',
    'ISOLATION',
    'CPU',
    'MEMORY',
    'ACTIVE',
    ...(wide ? ['CREATED', 'KEPT', 'ID'] : []),
    'IMAGE',
  ];
  return table([[...header, 'LABELS'], ...statuses.map((status) => row(status, wide, now))]).map((line) =>
    line.trimEnd(),
  );
}

function row(status: SandboxStatus, wide: boolean, now: number): readonly string[] {
  const { state, runtime, grade = '?', image, activeAt, createdAt, keptUntil, id, labels, usage } = status;
  const kept = keptUntil > now ? `${spanText(keptUntil - now)} more` : '-';
  return [
    shownName(status),
    styleText(colours[state], state),
    `${runtime} (${grade})`,
    usage === undefined ? '-' : `${Math.round(usage.cpus * 100)} %`,
    state === 'hibernated' ? 'on disk' : memoryText(usage),
    agoText(activeAt, now),
    ...(wide ? [agoText(createdAt, now), kept, id] : []),
    image === null ? '-' : printableLine(image),
    Object.entries(labels)
      .map(([name, value]) => `${name}=${printableLine(value)}`)
      .join(' '),
  ];
}

function memoryText(usage: SandboxUsage | undefined): string {
  if (usage === undefined) return '-';
  const { memoryBytes, memoryLimit } = usage;
  return memoryLimit === null
    ? sizeText(memoryBytes)
    : `${sizeText(memoryBytes)} of ${sizeText(memoryLimit)}`;
}

/** One sandbox that something was done to. */
export function showStatus(status: SandboxStatus, { json, out }: Pick<CliContext, 'json' | 'out'>): void {
  const { state, runtime, grade = 'not known' } = status;
  const line = `${shownName(status)}: ${state}, runtime ${runtime}, isolation grade ${grade}`;
  out(json ? JSON.stringify(status) : line);
}
