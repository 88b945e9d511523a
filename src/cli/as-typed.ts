import type { Machine } from '../machine/machine.ts';

/**
 * Hints name the form of the command that works where they are shown: `geode`, `npx geode-home`, `bin/geode.js`.
 * `bin/hand-over.js` sets the variable.
 */
export function asTyped(text: string, machine: Pick<Machine, 'variable'>): string {
  const typed = machine.variable('GEODE_TYPED_AS') || 'geode';
  return typed === 'geode' ? text : text.replaceAll(/(?<![\w/.@-])geode(?= (?:[a-z]|--))/g, () => typed);
}
