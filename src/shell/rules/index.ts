import { destroy } from './destroy.ts';
import { device } from './device.ts';
import { keyFiles } from './key-files.ts';
import { reverseShell } from './reverse-shell.ts';
import type { Rule } from './rule.ts';

/**
 * The rules that look at one program at a time, in the order in which they are asked.
 * Fork bombs are found in the shape of the script (`fork-bomb.ts`), redirections where they are set up
 * (`redirects.ts`), and text that comes from elsewhere where it is run (`invoke.ts`).
 */
export const rules: readonly Rule[] = [device, destroy, reverseShell, keyFiles];
