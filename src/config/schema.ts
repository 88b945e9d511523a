import { z } from 'zod';
import type { Machine } from '../machine/machine.ts';
import { acpSchema, agentsSchema, claudeSchema, codexSchema, containerAgentSchema } from './agents-schema.ts';
import { channelsSchema } from './channels-schema.ts';
import { chatSchema } from './chat-schema.ts';
import { egressSchema } from './egress-schema.ts';
import { e2bSchema, gatewaySchema } from './gateway-schema.ts';
import { mcpSchema } from './mcp-schema.ts';
import { memorySchema, qdrantSchema } from './memory-schema.ts';
import { providersSchema } from './models-schema.ts';
import { imagesSchema, runsSchema, solveSchema } from './runs-schema.ts';
import {
  appleSchema,
  dockerSchema,
  ociSchema,
  runtimeSchema,
  sandboxSchema,
  securitySchema,
} from './sandbox-schema.ts';

/** The whole config: one section for each part, every key with its meaning and default. Unknown keys are refused. */
export function configSchema(machine: Machine) {
  return z.strictObject({
    runtime: runtimeSchema,
    docker: dockerSchema(machine),
    oci: ociSchema,
    apple: appleSchema,
    sandbox: sandboxSchema(machine),
    memory: memorySchema(machine),
    qdrant: qdrantSchema,
    gateway: gatewaySchema(machine),
    e2b: e2bSchema,
    providers: providersSchema,
    agents: agentsSchema,
    container_agent: containerAgentSchema,
    solve: solveSchema,
    claude: claudeSchema,
    codex: codexSchema,
    acp: acpSchema,
    runs: runsSchema,
    images: imagesSchema,
    chat: chatSchema,
    channels: channelsSchema,
    egress: egressSchema(machine),
    mcp: mcpSchema,
    security: securitySchema,
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
