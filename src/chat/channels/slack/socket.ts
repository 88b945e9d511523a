import { z } from 'zod';
import type { Log } from '../../../base/log.ts';
import { followSocket } from '../follow-socket.ts';
import type { SlackApi } from './web-api.ts';

export interface SlackSocketOptions {
  /** Uses the app token, not the bot token. */
  readonly app: SlackApi;
  /** Connected. Earlier messages have to be fetched. */
  readonly began: (signal: AbortSignal) => Promise<void>;
  /** Stores the content of an envelope, then acknowledges it. */
  readonly take: (kind: string, payload: unknown) => Promise<void>;
  readonly log: Log;
}

const frameSchema = z.looseObject({
  type: z.string(),
  envelope_id: z.string().optional(),
  payload: z.unknown().optional(),
});
const addressSchema = z.looseObject({ url: z.string() });
const pingEveryMs = 15_000;
const leaveCode = 1000;

/** One connection of Slack's socket mode. Returns when Slack asks for a new one. */
export async function socketMode(
  { app, began, take, log }: SlackSocketOptions,
  up: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { url } = addressSchema.parse(await app.call('apps.connections.open', {}, { signal }));
  let isWanted = true;
  const end = await followSocket(
    {
      url,
      leaveCode,
      pingEveryMs,
      log,
      async frame(socket, given) {
        const frame = frameSchema.safeParse(given);
        if (!frame.success) return log.warn('Skipped an invalid frame from Slack');
        const { type, envelope_id: envelope, payload } = frame.data;
        if (type === 'hello') {
          await began(signal);
          up();
        } else if (type === 'disconnect') {
          isWanted = false;
          socket.close(leaveCode);
        } else if (envelope !== undefined) {
          await take(type, payload);
          socket.send({ envelope_id: envelope });
        }
      },
    },
    signal,
  );
  if (isWanted && !signal.aborted)
    throw new Error(
      `the connection to Slack ended (${end.code}${end.reason === '' ? '' : `, ${end.reason}`})`,
    );
}
