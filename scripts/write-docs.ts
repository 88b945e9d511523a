/** Writes the documents that are made from code. A test fails when they differ from what this prints. */
import { writeFileSync } from 'node:fs';
import { publishedSchema } from '../src/agents/stdin/schemas.ts';
import { errorsDocument } from './errors-document.ts';

writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsDocument());
writeFileSync(
  new URL('../docs/agent-stdin.schema.json', import.meta.url),
  `${JSON.stringify(publishedSchema(), null, 2)}\n`,
);
