import type { MachineCheck } from '../../seams/doctor.ts';

const mark = { ok: '✓', warning: '!', problem: '✗' } as const;

export function checkLine({ name, state, found, fix }: MachineCheck): string {
  return `${mark[state]} ${name}: ${found}${fix === undefined ? '' : `\n    ${fix}`}`;
}
