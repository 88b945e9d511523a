import type { Context } from 'hono';
import { wireBytes } from '../../../contract/encoding.ts';
import { toWire } from '../../../contract/names.ts';
import {
  type OutputEvent,
  outputEventSchema,
  outputQuery,
  processParams,
} from '../../../contract/processes.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { Journal } from '../../../core/journal.ts';
import type { ProcessEvent } from '../../../core/process.ts';
import type { ApiEnv } from '../../environment.ts';
import { lastEventId, signalOf, streamNumbered } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, eventStream, sandboxRefusals, security } from '../../route.ts';

export const output = defineRoute(
  {
    method: 'get',
    path: '/api/v1/sandboxes/{chat}/processes/{process}/output',
    summary: 'Read what a process writes, from any offset to its exit',
    description:
      'Bytes as the process wrote them, secrets included. The id of each event is the offset of the next byte, so that a caller which was cut off goes on where it was.',
    tags: ['processes'],
    security,
    middleware: requireScope('sandboxes:read'),
    request: { params: processParams, query: outputQuery },
    responses: {
      200: eventStream('The last event is `exit` or `problem`.', outputEventSchema),
      ...sandboxRefusals,
    },
  },
  async (context) => {
    const { chat, process } = context.req.valid('param');
    const from = lastEventId(context) ?? context.req.valid('query').from ?? 0;
    const { journal, isLive } = await journalOf(context, chat, process);
    const events = isLive
      ? journal.follow(from, { signal: signalOf(context) })
      : recorded(journal, from, process);
    return streamNumbered(context, numbered(events));
  },
);

/** The journal of a process of the caller, and whether anything may be added to it. */
export async function journalOf(
  context: Context<ApiEnv>,
  chat: string,
  process: string,
): Promise<{ readonly journal: Journal; readonly isLive: boolean }> {
  const { sandboxes } = context.var;
  const { state } = await sandboxes.inspect(chat, { signal: signalOf(context) });
  const journals = await sandboxes.journals(chat);
  if (!journals.has(process))
    throw new GeodeError('process_not_found', `There is no process ${process} in this sandbox`);
  return { journal: journals.open(process), isLive: state !== 'stopped' };
}

/** Nothing comes any more, also where no exit is on record. */
function* recorded(journal: Journal, from: number, process: string): Generator<ProcessEvent> {
  yield* journal.read(from);
  if (journal.exit === undefined)
    throw new GeodeError(
      'sandbox_stopped',
      `The sandbox ended before the exit of process ${process} was known`,
    );
}

async function* numbered(events: AsyncIterable<ProcessEvent> | Iterable<ProcessEvent>) {
  for await (const event of events) {
    if (event.type === 'exit') yield { event: wireEvent(event) };
    else {
      const length = event.type === 'output-lost' ? event.length : event.bytes.length;
      yield { event: wireEvent(event), next: event.offset + length };
    }
  }
}

function wireEvent(event: ProcessEvent): OutputEvent {
  if (event.type === 'exit') return toWire(event);
  if (event.type === 'output-lost') return event;
  const { type, offset, bytes } = event;
  return { type, offset, ...wireBytes(bytes) };
}
