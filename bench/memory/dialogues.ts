/** Long dialogues with questions about them: turns are the entries, and a search stays within one dialogue. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { RetrievalSet } from './retrieval.ts';

const turn = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string(),
  blip_caption: z.string().optional(),
});
const dialogue = z.object({
  conversation: z.record(z.string(), z.union([z.string(), z.array(turn)])),
  qa: z.array(z.object({ question: z.string(), evidence: z.array(z.string()) })),
});

/** One set for each dialogue; null when they are not there, because their licence lets few have them. */
export function loadDialogues(folder: string): readonly RetrievalSet[] | null {
  const file = join(folder, 'locomo-dev.json');
  if (!existsSync(file)) return null;
  return z
    .array(dialogue)
    .parse(JSON.parse(readFileSync(file, 'utf8')))
    .map(setOf);
}

function setOf({ conversation, qa }: z.infer<typeof dialogue>): RetrievalSet {
  const documents = Object.entries(conversation).flatMap(([name, turns]) => {
    if (typeof turns === 'string') return [];
    const date = dateIn(conversation[`${name}_date_time`]);
    return turns.map(({ speaker, dia_id, text, blip_caption }, order) => ({
      id: dia_id,
      text: `${speaker}: ${text}${blip_caption === undefined ? '' : ` [shares ${blip_caption}]`}`,
      position: { thread: name, order },
      ...(date && { date }),
    }));
  });
  const known = new Set(documents.map(({ id }) => id));
  const queries = qa.map(({ question, evidence }) => ({
    text: question,
    relevant: new Set(evidence.filter((id) => known.has(id))),
  }));
  return { documents, queries: queries.filter(({ relevant }) => relevant.size > 0) };
}

/** `1:56 pm on 8 May, 2023`. */
function dateIn(text: unknown): Date | null {
  const [, day] = /on (.+)$/.exec(String(text)) ?? [];
  return day === undefined ? null : new Date(`${day} UTC`);
}
