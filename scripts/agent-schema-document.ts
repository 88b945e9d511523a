import { publishedSchema } from '../src/agents/sandboxed/program/schemas.ts';

/** The schema of `geode agent-stdin` as people read it. */
export function agentSchemaDocument(): string {
  return `${JSON.stringify(publishedSchema(), null, 2)}\n`;
}
