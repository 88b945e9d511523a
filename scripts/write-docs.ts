/** Writes the documents that are made from code. A test fails when they differ from what this prints. */
import { writeFileSync } from 'node:fs';
import { commandsDocument } from './commands-document.ts';
import { errorsDocument } from './errors-document.ts';

writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsDocument());
writeFileSync(new URL('../docs/commands.md', import.meta.url), await commandsDocument());
