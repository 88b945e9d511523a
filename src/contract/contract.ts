/** All operations of the API. */
import { agents } from './agents.ts';
import { approvals } from './approvals.ts';
import { backups } from './backups.ts';
import { chats, schedules } from './chats.ts';
import { checkpoints } from './checkpoints.ts';
import { contexts } from './contexts.ts';
import { egress } from './egress.ts';
import { egressPolicy } from './egress-policy.ts';
import { events } from './events.ts';
import { files } from './files.ts';
import { imageStore } from './image-store.ts';
import { images } from './images.ts';
import { journals } from './journals.ts';
import { keys } from './keys.ts';
import { entries } from './memory.ts';
import { platformCalls } from './platform-calls.ts';
import { processes } from './processes.ts';
import { providers } from './providers.ts';
import { runs } from './runs.ts';
import { sandboxes } from './sandboxes.ts';
import { secrets } from './secrets.ts';
import { senders } from './senders.ts';
import { memory, server } from './server.ts';
import { session } from './session.ts';
import { snapshots } from './snapshots.ts';
import { sockets } from './sockets.ts';
import { crystals, solves } from './solve.ts';
import { tools } from './tools.ts';
import { turns } from './turns.ts';
import { webhooks } from './webhooks.ts';

export const contract = {
  agents,
  approvals,
  backups,
  chats,
  checkpoints,
  contexts,
  crystals,
  egress,
  egressPolicy,
  entries,
  events,
  files,
  imageStore,
  images,
  journals,
  keys,
  memory,
  platformCalls,
  processes,
  providers,
  runs,
  sandboxes,
  schedules,
  secrets,
  senders,
  server,
  session,
  snapshots,
  sockets,
  solves,
  tools,
  turns,
  webhooks,
};

export type Contract = typeof contract;
