import { type ParsedScript, parse } from 'unbash';
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
 * hides in the difference. Throws a refusal when bash's reading has an error.
 */
export function readings(source: string, dialect: Dialect): readonly Reading[] {
  if (source.includes('\0')) {
    throw new Refusal('unparsable', 'The command holds a NUL byte.', excerpt(source));
  }
  const script = parse(source);
  const { problem, edits } = survey(script, source);
  if (problem !== undefined) {
    throw new Refusal(
      'unparsable',
      `The command cannot be parsed: ${problem.message}.`,
      around(source, problem.pos),
    );
  }
  const first = { source, script };
  return dialect === 'bash' || edits.length === 0 ? [first] : [first, ...posixReadings(source, edits)];
}

/** One reading with all differences, and one with each kind alone: shells have some of them and lack others. */
function posixReadings(source: string, edits: readonly Edit[]): Reading[] {
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
