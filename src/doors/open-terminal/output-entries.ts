/** The output of a command as entries: one for each line. */
import type { Journal } from '../../seams/journal.ts';

interface From {
  /** Bytes that the reader already has. */
  readonly offset: number;
  readonly tail: number | undefined;
}

export function outputFrom(journal: Pick<Journal, 'read' | 'exit'>, { offset, tail }: From) {
  const decoder = new TextDecoder();
  let text = '';
  let next = offset;
  for (const event of journal.read(offset)) {
    if (event.type === 'exit') continue;
    if (event.type === 'output-lost') {
      text += `[${event.length} bytes of output were dropped]\n`;
      next = event.offset + event.length;
      continue;
    }
    text += decoder.decode(event.bytes, { stream: true });
    next = event.offset + event.bytes.length;
  }
  // A character may still be on its way.
  if (journal.exit !== undefined) text += decoder.decode();
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const shown = tail === undefined ? lines : lines.slice(-tail);
  return {
    output: shown.map((data) => ({ type: 'output', data })),
    next_offset: next,
    truncated: shown.length < lines.length,
  };
}
