import type { MachineCheck } from '../../seams/doctor.ts';

const mark = { ok: 'ok', warning: '--', problem: '!!' } as const;

/** A line for each check, with the next step below it. */
export function checkLines(checks: readonly MachineCheck[]): readonly string[] {
  const width = Math.max(...checks.map(({ name }) => name.length));
  return checks.flatMap(({ name, state, found, fix }) => [
    `${mark[state]}   ${name.padEnd(width)}  ${found}`,
    ...(fix === undefined ? [] : [`${' '.repeat(width + 7)}${fix}`]),
  ]);
}
