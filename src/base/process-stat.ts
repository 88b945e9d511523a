export interface ProcessStat {
  /** One letter; `Z` for a zombie: it has ended, and nobody has asked how. */
  readonly state: string;
  readonly parent: number;
  /** Ticks since the machine started: with the process id it names a process for good. */
  readonly start: string;
}

/** What /proc/PID/stat says; undefined for a text that is cut off. The name in parentheses may hold anything. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, start] = [fields[0], fields[1], fields[19]];
  if (state === undefined || parent === undefined || start === undefined) return undefined;
  return { state, parent: Number(parent), start };
}
