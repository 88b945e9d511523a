import { type ParsedScript, parse } from 'unbash';
import { policyLimits } from './limits.ts';
import { CommandRefusal, excerpt } from './verdict.ts';

/** Parses a script like bash. Throws a refusal if the text has an error or is too expensive to parse. */
export function parseScript(source: string): ParsedScript {
  if (source.includes('\0')) {
    throw new CommandRefusal('unparsable', 'The command contains a NUL byte.', excerpt(source));
  }
  checkCost(source);
  const script = parse(source);
  const error = script.errors?.[0];
  if (error !== undefined) {
    const at = source.slice(Math.max(0, error.pos - 40), error.pos + 40);
    throw new CommandRefusal('unparsable', `The command cannot be parsed: ${error.message}.`, excerpt(at));
  }
  return script;
}

/** Counts brackets before parsing: the parser's cost grows with the square of the unclosed `{` and `$[`. */
function checkCost(source: string): void {
  let open = 0;
  let deepest = 0;
  let braces = 0;
  for (const [brace] of source.matchAll(/[{}]/g)) {
    open = brace === '{' ? open + 1 : Math.max(0, open - 1);
    deepest = Math.max(deepest, open);
    if (brace === '{') braces++;
  }
  const oldArithmetic = source.split('$[').length - 1;
  if (
    deepest > policyLimits.openBraces ||
    braces > policyLimits.braces ||
    oldArithmetic > policyLimits.oldArithmetic
  ) {
    throw new CommandRefusal('too-complex', 'The command has too many brackets.', excerpt(source));
  }
}
