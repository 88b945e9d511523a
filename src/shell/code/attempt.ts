import { Refusal, type RuleName } from '../verdict.ts';

const aboutForm: ReadonlySet<RuleName> = new Set(['unparsable', 'not-listed', 'dynamic']);

/**
 * Looks at text that is only taken for a command, such as a string in code: it may be none at all, so what
 * would be refused for its form alone is let go.
 */
export function attempt(look: () => string): void {
  try {
    look();
  } catch (thrown) {
    if (!(thrown instanceof Refusal) || !aboutForm.has(thrown.rule)) throw thrown;
  }
}
