/** The operations of each part that this server has. */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { contract } from '../contract/contract.ts';
import type { ApiEnv, ApiOptions, ApiParts } from './environment.ts';
import { agentHandlers } from './handlers/agents.ts';
import { approvalHandlers } from './handlers/approvals.ts';
import { backupHandlers } from './handlers/backups.ts';
import { chatHandlers, scheduleHandlers, senderHandlers } from './handlers/chats.ts';
import { checkpointHandlers } from './handlers/checkpoints.ts';
import { contextHandlers } from './handlers/contexts.ts';
import { crystalHandlers } from './handlers/crystals.ts';
import { egressHandlers } from './handlers/egress.ts';
import { egressPolicyHandlers } from './handlers/egress-policy.ts';
import { entryHandlers } from './handlers/entries.ts';
import { eventHandlers } from './handlers/events.ts';
import { fileHandlers } from './handlers/files.ts';
import { imageStoreHandlers } from './handlers/image-store.ts';
import { imageHandlers } from './handlers/images.ts';
import { journalHandlers } from './handlers/journals.ts';
import { keyHandlers } from './handlers/keys.ts';
import { servePlatformCalls } from './handlers/platform-calls.ts';
import { processHandlers } from './handlers/processes.ts';
import { providerHandlers } from './handlers/providers.ts';
import { runHandlers } from './handlers/runs.ts';
import { sandboxHandlers } from './handlers/sandboxes.ts';
import { secretHandlers } from './handlers/secrets.ts';
import { memoryHandlers, serverHandlers } from './handlers/server.ts';
import { serveSession } from './handlers/session.ts';
import { snapshotHandlers } from './handlers/snapshots.ts';
import { socketHandlers } from './handlers/sockets.ts';
import { solveHandlers } from './handlers/solves.ts';
import { toolHandlers } from './handlers/tools.ts';
import { turnHandlers } from './handlers/turns.ts';
import { webhookHandlers } from './handlers/webhooks.ts';
import { serve } from './serve.ts';

export function serveParts(app: OpenAPIHono<ApiEnv>, parts: ApiParts, { failureRate }: ApiOptions): void {
  const { agents, approvals, chats, contexts, egress, events, journals, keys, logins } = parts;
  const { sandboxes, solves, tools } = parts;
  serve(app, contract.server, serverHandlers(parts));
  serve(app, contract.entries, entryHandlers);
  serve(app, contract.memory, memoryHandlers(parts.memory));
  // Fixed paths come before the path that takes any id.
  serve(app, contract.sockets, socketHandlers(parts));
  serve(app, contract.runs, runHandlers(parts.runs, parts.history, egress));
  serve(app, contract.images, imageHandlers(parts.images, parts.image));
  if (parts.imageStore !== undefined) serve(app, contract.imageStore, imageStoreHandlers(parts.imageStore));
  if (sandboxes !== undefined) {
    serve(app, contract.sandboxes, sandboxHandlers(sandboxes, parts));
    serve(app, contract.processes, processHandlers);
    serve(app, contract.files, fileHandlers);
    serve(app, contract.snapshots, snapshotHandlers);
    serve(app, contract.checkpoints, checkpointHandlers);
    if (tools !== undefined) serve(app, contract.tools, toolHandlers(tools));
    if (journals !== undefined) serve(app, contract.journals, journalHandlers(journals));
    if (egress !== undefined) serve(app, contract.egressPolicy, egressPolicyHandlers(egress));
  }
  if (egress !== undefined) {
    serve(app, contract.egress, egressHandlers(egress));
    serve(app, contract.secrets, secretHandlers(egress.secrets));
  }
  if (parts.providers !== undefined) serve(app, contract.providers, providerHandlers(parts.providers));
  if (parts.backups !== undefined) serve(app, contract.backups, backupHandlers(parts.backups));
  if (approvals !== undefined) serve(app, contract.approvals, approvalHandlers(approvals));
  if (contexts !== undefined) serve(app, contract.contexts, contextHandlers(contexts));
  if (events !== undefined) serve(app, contract.events, eventHandlers(events));
  if (agents !== undefined) serve(app, contract.agents, agentHandlers(agents));
  if (parts.replays !== undefined) serve(app, contract.turns, turnHandlers(parts.replays));
  if (solves !== undefined) {
    serve(app, contract.solves, solveHandlers(solves.of, egress));
    serve(app, contract.crystals, crystalHandlers(solves, egress));
  }
  if (chats !== undefined) {
    serve(app, contract.chats, chatHandlers(chats));
    serve(app, contract.senders, senderHandlers(chats));
    serve(app, contract.schedules, scheduleHandlers(chats));
    servePlatformCalls(app, chats, failureRate);
  }
  if (parts.webhooks !== undefined) serve(app, contract.webhooks, webhookHandlers(parts.webhooks));
  if (keys !== 'off') serve(app, contract.keys, keyHandlers(keys, events));
  if (logins !== undefined) serveSession(app, logins, parts.version, failureRate);
}
