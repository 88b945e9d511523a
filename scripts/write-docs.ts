/** Writes the documents that are made from code. A test fails when they differ from what this prints. */
import { writeFileSync } from 'node:fs';
import { errorsDocument } from './errors-document.ts';

writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsDocument());
