import { z } from 'zod';
import type { Machine } from '../machine/machine.ts';
import {
  acpSettings,
  agentsSettings,
  claudeSettings,
  codexSettings,
  containerAgentSettings,
} from './agents-schema.ts';
import { backupSettings } from './backup-schema.ts';
import { channelsSettings } from './channels-schema.ts';
import { chatSettings } from './chat-schema.ts';
import { egressSettings } from './egress-schema.ts';
import { e2bSettings, gatewaySettings } from './gateway-schema.ts';
import { mcpSettings } from './mcp-schema.ts';
import { memorySettings, qdrantSettings } from './memory-schema.ts';
import { providersSettings } from './models-schema.ts';
import { imagesSettings, runsSettings, solveSettings } from './runs-schema.ts';
import {
  appleSettings,
  dockerSettings,
  ociSettings,
  runtimeSettings,
  sandboxSettings,
  securitySettings,
} from './sandbox-schema.ts';
import { telemetrySettings } from './telemetry-schema.ts';
import { webhookSettings } from './webhook-schema.ts';

/** The whole config: one section for each part, every key with its meaning and default. Unknown keys are refused. */
export function configSchema(machine: Machine) {
  return z.strictObject({
    runtime: runtimeSettings,
    docker: dockerSettings(machine),
    oci: ociSettings,
    apple: appleSettings,
    sandbox: sandboxSettings(machine),
    memory: memorySettings(machine),
    qdrant: qdrantSettings,
    gateway: gatewaySettings(machine),
    telemetry: telemetrySettings,
    backup: backupSettings(machine),
    e2b: e2bSettings,
    providers: providersSettings,
    agents: agentsSettings,
    container_agent: containerAgentSettings,
    solve: solveSettings,
    claude: claudeSettings,
    codex: codexSettings,
    acp: acpSettings,
    runs: runsSettings,
    images: imagesSettings,
    chat: chatSettings,
    channels: channelsSettings,
    egress: egressSettings(machine),
    webhooks: webhookSettings,
    mcp: mcpSettings,
    security: securitySettings,
  });
}

export type Config = z.infer<ReturnType<typeof configSchema>>;
