import type { turns } from '../../contract/turns.ts';
import type { Replays } from '../../seams/replay.ts';
import type { Handlers } from '../serve.ts';
import { begun } from '../streams.ts';

export function turnHandlers(replays: Replays): Handlers<typeof turns> {
  return {
    list: ({ chat }, { caller }) => replays.of(caller.user).turns(chat),
    replay: ({ chat, turn, model, keep }, { caller, signal }) =>
      begun(replays.of(caller.user).replay(chat, turn, { model, keep, signal })),
  };
}
