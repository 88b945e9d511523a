import { type ParsedScript, parse, type Word } from 'unbash';
import { limits } from './limits.ts';
import { type Edit, survey } from './survey.ts';
import { excerpt, Refusal } from './verdict.ts';

/** Which shell reads the text. `sh` may be any of several, so every way it can be read counts. */
export type Dialect = 'sh' | 'bash';

export interface Reading {
  readonly source: string;
  readonly script: ParsedScript;
}

/**
 * Every way a shell may read the text. The first is bash's. What bash takes for one construct and a plain
 * POSIX shell for another (`((…))`, `[[ … ]]`, `&>`, `$'…'`, `$[…]`) gives further readings, so that nothing
 * hides in the difference. Throws a refusal when bash's reading has an error; a text that is only guessed, because
 * it was put together from variables, may have one (`tolerant`).
 */
export function readings(source: string, dialect: Dialect, tolerant = false): readonly Reading[] {
  if (source.includes('\0')) {
    throw new Refusal('unparsable', 'The command holds a NUL byte.', excerpt(source));
  }
  checkCost(source);
  const script = parse(source);
  const { problem, edits } = survey(script, source);
  if (problem !== undefined && !tolerant) {
    throw new Refusal(
      'unparsable',
      `The command cannot be parsed: ${problem.message}.`,
      around(source, problem.pos),
    );
  }
  const others = dialect === 'bash' ? [] : posixReadings(source, edits);
  return [{ source, script }, ...others, ...joinedReading(source)];
}

/**
 * Refuses texts on which the parser takes more than its share of time: its cost grows with the square of the
 * unclosed `{` and `$[` in them. This only counts characters and says nothing about what they mean.
 */
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
  if (deepest > limits.openBraces || braces > limits.braces || oldArithmetic > limits.oldArithmetic) {
    throw new Refusal('too-complex', 'The command has too many brackets.', excerpt(source));
  }
}

/**
 * A backslash at the end of a line joins it to the next even in the middle of a name, which the parser does not
 * follow everywhere: what it reads after joining counts, too.
 */
function joinedReading(source: string): Reading[] {
  const joined = source.replace(/\\(?:\n|(.))/g, (pair: string, character?: string) =>
    character === undefined ? '' : pair,
  );
  return joined === source ? [] : [{ source: joined, script: parse(joined) }];
}

/** One reading with all differences, and one with each kind alone: shells have some of them and lack others. */
function posixReadings(source: string, edits: readonly Edit[]): Reading[] {
  if (edits.length === 0) return [];
  const kinds = [...new Set(edits.map((edit) => edit.kind))];
  const choices = kinds.length > 1 ? [kinds, ...kinds.map((kind) => [kind])] : [kinds];
  return choices.map((chosen) =>
    posixReading(
      source,
      chosen,
      edits.filter((edit) => chosen.includes(edit.kind)),
    ),
  );
}

const mostRounds = 16;

/** Read the other way, a text may show further differences inside: `(((…)))`. */
function posixReading(source: string, kinds: readonly Edit['kind'][], edits: readonly Edit[]): Reading {
  let edited = source;
  let next = edits;
  for (let round = 0; round < mostRounds; round++) {
    edited = apply(edited, next);
    const script = parse(edited);
    next = survey(script, edited).edits.filter((edit) => kinds.includes(edit.kind));
    if (next.length === 0) return { source: edited, script };
  }
  throw new Refusal('too-complex', 'The command is nested too deeply.', excerpt(source));
}

function apply(source: string, edits: readonly Edit[]): string {
  let result = '';
  let from = 0;
  for (const edit of edits.toSorted((a, b) => a.pos - b.pos)) {
    if (edit.pos < from) continue;
    result += source.slice(from, edit.pos) + edit.insert;
    from = edit.pos + edit.remove;
  }
  return result + source.slice(from);
}

function around(source: string, pos: number): string {
  return excerpt(source.slice(Math.max(0, pos - 40), pos + 40));
}

/** The words that a piece of a command spells. */
export function parseWords(spelling: string): Word[] {
  // A leading `#` would be read as a comment, which it is not in the middle of a command.
  const command = parse(`: ${spelling.startsWith('#') ? '\\' : ''}${spelling}`).commands[0]?.command;
  return command?.type === 'Command' ? command.args.filter((argument) => argument.type === 'Word') : [];
}
