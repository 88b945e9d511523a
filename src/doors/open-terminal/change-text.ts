import { z } from '@hono/zod-openapi';
import { GeodeError } from '../../base/errors.ts';

const line = z.int().min(1).nullish();

export const replacementSchema = z.object({
  target: z.string().min(1).describe('The exact text to find.'),
  replacement: z.string().describe('The new text.'),
  start_line: line.describe('Look from this line on, from 1.'),
  end_line: line.describe('Look up to this line, included.'),
  allow_multiple: z
    .boolean()
    .default(false)
    .describe('true: replace every match; false: more than one is an error.'),
});

/** Line breaks stay as they are. Throws `invalid_input` if a target is missing or ambiguous. */
export function changedText(
  text: string,
  replacements: readonly z.infer<typeof replacementSchema>[],
): string {
  return replacements.reduce(
    (content, { target, replacement, start_line: start, end_line: end, allow_multiple }) => {
      const [before, within, after] = parted(content, start ?? 1, end ?? Number.POSITIVE_INFINITY);
      const pieces = within.split(target);
      const count = pieces.length - 1;
      if (count === 0)
        throw new GeodeError(
          'invalid_input',
          `Target string not found: ${JSON.stringify(target.slice(0, 100))}.`,
        );
      if (count > 1 && !allow_multiple)
        throw new GeodeError(
          'invalid_input',
          `Found ${count} occurrences of target string but allow_multiple is false.`,
        );
      return before + pieces.join(replacement) + after;
    },
    text,
  );
}

function parted(text: string, start: number, end: number): readonly [string, string, string] {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const join = (from: number, to?: number) => lines.slice(from, to).join('');
  return [join(0, start - 1), join(start - 1, Math.max(start - 1, end)), join(Math.max(start - 1, end))];
}
