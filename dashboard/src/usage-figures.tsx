import type { Usage } from '../../src/sandboxes/metrics.ts';
import { useLive } from './live.ts';
import { bytesText, percentText } from './shown.ts';
import { text } from './text.ts';
import { Sparkline } from './ui/sparkline.tsx';

export type Figure = 'cpus' | 'memoryBytes' | 'pids' | 'diskBytes';

const names: Readonly<Record<Figure, string>> = {
  cpus: text.sandboxes.cpu,
  memoryBytes: text.sandboxes.memory,
  pids: text.sandboxes.processes,
  diskBytes: text.sandboxes.disk,
};

/** The use of a sandbox now, with its limit and its last minutes. */
export function FigureOf({
  chat,
  figure,
  isPlain = false,
}: {
  readonly chat: string;
  readonly figure: Figure;
  /** Without the line of the last minutes. */
  readonly isPlain?: boolean;
}) {
  const { usage } = useLive();
  const known = usage.get(chat) ?? [];
  const last = known.at(-1);
  if (last === undefined || last[figure] === null) return <span className="text-faint">–</span>;
  return (
    <span className="figures whitespace-nowrap">
      {!isPlain && <Sparkline label={names[figure]} values={known.map((each) => each[figure]?.used ?? 0)} />}{' '}
      {figureText(last, figure)}
    </span>
  );
}

export function figureText(usage: Usage, figure: Figure): string {
  const found = usage[figure];
  if (found === null) return '–';
  const { used, limit } = found;
  if (figure === 'cpus')
    return limit === null ? percentText(used) : `${percentText(used / limit)} ${text.home.of} ${limit}`;
  const shown = (value: number) => (figure === 'pids' ? String(value) : bytesText(value));
  const soft = 'soft' in found && found.soft ? ` ${text.sandboxes.soft}` : '';
  return limit === null ? shown(used) : `${shown(used)} ${text.home.of} ${shown(limit)}${soft}`;
}
