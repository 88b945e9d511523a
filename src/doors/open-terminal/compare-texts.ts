/** Two texts as hunks of lines, with the words that differ inside changed lines. */
import { diffWordsWithSpace, structuredPatch } from 'diff';
import { GeodeError } from '../../base/errors.ts';

const mostCharacters = 2_000_000;
const timeoutMs = 10_000;
/** Longer lines are shown whole. */
const longestLine = 4096;
const context = 3;

interface Segment {
  readonly text: string;
  readonly changed: boolean;
}

interface Line {
  readonly type: 'context' | 'removed' | 'added';
  readonly oldNumber: number | null;
  readonly newNumber: number | null;
  readonly content: string;
  readonly revisedContent?: string;
  segments: readonly Segment[];
}

export function compareTexts(original: string, revised: string, ignoreWhitespace: boolean) {
  if (Math.max(original.length, revised.length) > mostCharacters)
    throw new GeodeError('too_large', `Texts with more than ${mostCharacters} characters are not compared.`);
  const [before, after] = [linesOf(original), linesOf(revised)];
  const keys = (lines: readonly string[]) =>
    lines.map((line) => `${ignoreWhitespace ? line.replace(/\s+/g, '') : line}\n`).join('');
  const patch = structuredPatch('', '', keys(before), keys(after), '', '', { context, timeout: timeoutMs });
  if (patch === undefined)
    throw new GeodeError('timed_out', 'The texts differ too much to be compared in time.');
  const hunks = patch.hunks.map(({ oldStart, newStart, oldLines, newLines, lines: marks }) => ({
    header: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    lines: linesIn(marks, { before, after, oldStart, newStart }),
  }));
  const count = (type: Line['type']) =>
    hunks.flatMap(({ lines }) => lines).filter((line) => line.type === type).length;
  return { additions: count('added'), deletions: count('removed'), hunks };
}

function linesOf(text: string): readonly string[] {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

interface Place {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly oldStart: number;
  readonly newStart: number;
}

function linesIn(marks: readonly string[], { before, after, oldStart, newStart }: Place): readonly Line[] {
  const lines: Line[] = [];
  let [x, y] = [oldStart, newStart];
  for (const mark of marks) {
    const [old = '', revised = ''] = [before[x - 1], after[y - 1]];
    if (mark.startsWith('-')) {
      lines.push({ type: 'removed', oldNumber: x, newNumber: null, content: old, segments: whole(old) });
      x += 1;
    } else if (mark.startsWith('+')) {
      lines.push({
        type: 'added',
        oldNumber: null,
        newNumber: y,
        content: revised,
        segments: whole(revised),
      });
      y += 1;
    } else if (mark.startsWith(' ')) {
      const numbers = { oldNumber: x, newNumber: y };
      lines.push({
        type: 'context',
        ...numbers,
        content: old,
        revisedContent: revised,
        segments: whole(old),
      });
      x += 1;
      y += 1;
    }
  }
  markWords(lines);
  return lines;
}

/** Pairs the removed lines of each change with its added lines. */
function markWords(lines: readonly Line[]): void {
  for (let at = 0; at < lines.length; ) {
    const end = lines.findIndex(({ type }, index) => index >= at && type === 'context');
    const change = lines.slice(at, end === -1 ? lines.length : end);
    const added = change.filter(({ type }) => type === 'added');
    for (const [index, removed] of change.filter(({ type }) => type === 'removed').entries()) {
      const partner = added[index];
      if (partner !== undefined) markPair(removed, partner);
    }
    at += change.length + 1;
  }
}

function markPair(removed: Line, added: Line): void {
  if (Math.max(removed.content.length, added.content.length) > longestLine) return;
  const parts = diffWordsWithSpace(removed.content, added.content);
  const of = (unwanted: 'added' | 'removed') =>
    parts
      .filter((part) => !part[unwanted])
      .map((part) => ({ text: part.value, changed: part.added || part.removed }));
  removed.segments = of('added');
  added.segments = of('removed');
}

function whole(text: string): readonly Segment[] {
  return [{ text, changed: false }];
}
