/** OpenAI's HumanEval as a search for code: what a function should do, and the function without that text. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import type { RetrievalSet } from './retrieval.ts';

const problem = z.object({
  task_id: z.string(),
  prompt: z.string(),
  canonical_solution: z.string(),
  entry_point: z.string(),
});

/** The text before the examples; the examples would give the function away by its name. */
const EXAMPLES = />>>|e\.g\.|for example|example/i;

export function loadHumanEval(folder: string): RetrievalSet {
  const file = join(folder, 'HumanEval.jsonl.gz');
  if (!existsSync(file)) {
    throw new Error(
      `HumanEval is not in ${folder}. Get data/HumanEval.jsonl.gz from https://github.com/openai/human-eval and put it there.`,
    );
  }
  const lines = gunzipSync(readFileSync(file)).toString().trim().split('\n');
  const parts = lines.map((text) => split(problem.parse(JSON.parse(text))));
  return {
    documents: parts.map(({ id, code }) => ({ id, text: code })),
    queries: parts.map(({ id, description }) => ({ text: description, relevant: new Set([id]) })),
  };
}

function split({ task_id: id, prompt, canonical_solution, entry_point }: z.infer<typeof problem>) {
  const start = prompt.lastIndexOf(`def ${entry_point}`);
  const [quoted = '', , text = ''] = /("""|''')(.*?)\1/s.exec(prompt.slice(start)) ?? [];
  const head = prompt.slice(0, prompt.indexOf(quoted, start)).trimEnd();
  const description = (text.split(EXAMPLES)[0] ?? '').replaceAll(/\s+/g, ' ').trim();
  return { id, code: `${head}\n${canonical_solution}`, description };
}
