/** Writes the documents that are made from code. A test fails when they differ from what this prints. */
import { writeFileSync } from 'node:fs';
import { agentSchemaDocument } from './agent-schema-document.ts';
import { commandList } from './command-list.ts';
import { configurationDocument } from './configuration-document.ts';
import { errorsDocument } from './errors-document.ts';
import { hostSeccomp } from './host-seccomp.ts';
import { openApiDocument } from './openapi-document.ts';
import { operationTable } from './operation-table.ts';

writeFileSync(new URL('../src/cli/command-list.ts', import.meta.url), await commandList());
writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsDocument());
writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationDocument());
// Only now: it reads the list.
const { commandsDocument } = await import('./commands-document.ts');
writeFileSync(new URL('../docs/commands.md', import.meta.url), await commandsDocument());
writeFileSync(new URL('../docs/agent-stdin.schema.json', import.meta.url), agentSchemaDocument());
writeFileSync(new URL('../src/client/operation-table.ts', import.meta.url), operationTable());
writeFileSync(new URL('../docs/openapi.json', import.meta.url), await openApiDocument());
writeFileSync(new URL('../deploy/seccomp.json', import.meta.url), hostSeccomp());
