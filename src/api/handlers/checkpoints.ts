/** Checkpoints of running sandboxes. `…/fork` of a sandbox copies one, `…/hibernate` puts one to sleep. */

import type { checkpoints } from '../../contract/checkpoints.ts';
import type { Handlers } from '../serve.ts';

export const checkpointHandlers: Handlers<typeof checkpoints> = {
  take: ({ chat, name }, { sandboxes: own, signal }) => own.checkpoint(chat, { name, signal }),
  list: ({ chat }, { sandboxes: own }) => own.checkpoints(chat),
  remove: ({ chat, checkpoint }, { sandboxes: own }) => own.removeCheckpoint(chat, checkpoint),
};
