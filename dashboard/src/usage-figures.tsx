import type { Usage } from '../../src/sandboxes/metrics.ts';
import { useLive } from './live.ts';
import { bytesText } from './shown.ts';
import { text } from './text.ts';
import { Sparkline } from './ui/sparkline.tsx';

export type Figure = 'cpus' | 'memoryBytes' | 'pids' | 'diskBytes';

const names: Readonly<Record<Figure, string>> = {
  cpus: text.sandboxes.cpu,
  memoryBytes: text.sandboxes.memory,
  pids: text.sandboxes.processes,
  diskBytes: text.sandboxes.disk,
};

/** What a sandbox uses of something now, with its limit and its last minutes. */
export function FigureOf({ chat, figure }: { readonly chat: string; readonly figure: Figure }) {
  const { usage } = useLive();
  const known = usage.get(chat) ?? [];
  const last = known.at(-1);
  if (last === undefined || last[figure] === null) return <span className="text-faint">–</span>;
  return (
    <span className="whitespace-nowrap">
      <Sparkline label={names[figure]} values={known.map((each) => each[figure]?.used ?? 0)} />{' '}
      {figureText(last, figure)}
    </span>
  );
}

export function figureText(usage: Usage, figure: Figure): string {
  const found = usage[figure];
  if (found === null) return '–';
  const isBytes = figure === 'memoryBytes' || figure === 'diskBytes';
  const shown = (value: number) =>
    isBytes ? bytesText(value) : figure === 'cpus' ? value.toFixed(2) : String(value);
  const soft = 'soft' in found && found.soft ? ` ${text.sandboxes.soft}` : '';
  return `${shown(found.used)} / ${found.limit === null ? text.sandboxes.noLimit : shown(found.limit) + soft}`;
}
