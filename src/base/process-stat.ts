export interface ProcessStat {
  /** One letter; `Z` for a zombie, which has exited but was not reaped. */
  readonly state: string;
  readonly parent: number;
  /** Ticks since the machine started. Together with the process id it identifies a process permanently. */
  readonly start: string;
}

/** Parses /proc/PID/stat; undefined for incomplete text. The name in parentheses may contain any character. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, start] = [fields[0], fields[1], fields[19]];
  if (state === undefined || parent === undefined || start === undefined) return undefined;
  return { state, parent: Number(parent), start };
}
