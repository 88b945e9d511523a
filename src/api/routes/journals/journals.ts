/** Reading back what processes wrote, whether or not the sandbox runs. */
import type { Context } from 'hono';
import { wireBytes } from '../../../contract/encoding.ts';
import {
  type JournalEvent,
  type JournalPage,
  journalEventSchema,
  journalFollowQuery,
  journalGrepQuery,
  journalGrepSchema,
  journalLinesSchema,
  journalListQuery,
  journalPageQuery,
  journalPageSchema,
  journalsSchema,
  journalTailQuery,
} from '../../../contract/journals.ts';
import { fromWire, toWire } from '../../../contract/names.ts';
import { processParams } from '../../../contract/processes.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { Journal } from '../../../core/journal.ts';
import type { RecordedEvent } from '../../../journals/journal-events.ts';
import type { JournalReading } from '../../../journals/journal-reading.ts';
import { drainOutput } from '../../drain-output.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { lastEventId, signalOf, streamNumbered } from '../../events.ts';
import { refuseWithout, requireScope } from '../../guards/auth.ts';
import { defineRoute, eventStream, json, sandboxRefusals, security } from '../../route.ts';
import { journalOf } from '../processes/output.ts';

const path = '/api/v1/sandboxes/{chat}/journals';
const one = `${path}/{process}` as const;
const common = {
  method: 'get' as const,
  tags: ['journals'],
  security,
  middleware: requireScope('sandboxes:read'),
};

export function journalRoutes(journals: NonNullable<ApiParts['journals']>) {
  const readingOf = async (context: Context<ApiEnv>, chat: string, show: 'redacted' | 'raw') => {
    if (show === 'raw') refuseWithout(context, 'sandboxes:write');
    const { sandboxes } = context.var;
    const signal = signalOf(context);
    const { id, state } = await sandboxes.inspect(chat, { signal });
    if (state === 'running') await drainOutput(sandboxes, chat, { signal });
    return journals(id, show, context.var.caller.user);
  };

  const list = defineRoute(
    {
      ...common,
      path,
      summary: 'List the journals of a sandbox, the newest first',
      request: { params: chatParams, query: journalListQuery },
      responses: { 200: json('One for each process.', journalsSchema), ...sandboxRefusals },
    },
    async (context) => {
      const { show } = context.req.valid('query');
      const reading = await readingOf(context, context.req.valid('param').chat, show);
      return context.json({ journals: reading.list().map((each) => toWire(each)) }, 200);
    },
  );

  const page = defineRoute(
    {
      ...common,
      path: `${one}/page`,
      summary: 'Read a journal page by page, from any offset or time',
      request: { params: processParams, query: journalPageQuery },
      responses: { 200: json('The page.', journalPageSchema), ...sandboxRefusals },
    },
    async (context) => {
      const { chat, process } = context.req.valid('param');
      const { show, limitBytes, ...part } = fromWire(context.req.valid('query'));
      const reading = await readingOf(context, chat, show);
      const read = await reading.page(process, limitBytes, { ...part, signal: signalOf(context) });
      const events: JournalPage['events'] = read.events.map(wireRecorded);
      return context.json({ events, next: read.next, is_last: read.isLast }, 200);
    },
  );

  const tail = defineRoute(
    {
      ...common,
      path: `${one}/tail`,
      summary: 'Read the last lines of a journal',
      request: { params: processParams, query: journalTailQuery },
      responses: { 200: json('The lines, oldest first.', journalLinesSchema), ...sandboxRefusals },
    },
    async (context) => {
      const { chat, process } = context.req.valid('param');
      const { show, lines, ...part } = fromWire(context.req.valid('query'));
      const reading = await readingOf(context, chat, show);
      const found = await reading.tail(process, lines, { ...part, signal: signalOf(context) });
      return context.json({ lines: found.map((line) => toWire(line)) }, 200);
    },
  );

  const grep = defineRoute(
    {
      ...common,
      path: `${one}/grep`,
      summary: 'Find lines in a journal',
      request: { params: processParams, query: journalGrepQuery },
      responses: { 200: json('The lines, and those around them.', journalGrepSchema), ...sandboxRefusals },
    },
    async (context) => {
      const { chat, process } = context.req.valid('param');
      const { show, pattern, ...part } = fromWire(context.req.valid('query'));
      const reading = await readingOf(context, chat, show);
      const found = await reading.grep(process, pattern, { ...part, signal: signalOf(context) });
      return context.json(toWire(found), 200);
    },
  );

  const follow = defineRoute(
    {
      ...common,
      path: `${one}/follow`,
      summary: 'Read a journal, and what is added to it, to the exit',
      description: 'The id of each event is the offset of the next byte.',
      request: { params: processParams, query: journalFollowQuery },
      responses: {
        200: eventStream('The last event is `exit` or `problem`.', journalEventSchema),
        ...sandboxRefusals,
      },
    },
    async (context) => {
      const { chat, process } = context.req.valid('param');
      const { show, tail: lines, ...part } = fromWire(context.req.valid('query'));
      const reading = await readingOf(context, chat, show);
      const live = await journalOf(context, chat, process);
      const signal = signalOf(context);
      const resumed = lastEventId(context);
      const [first] =
        resumed === undefined && lines !== undefined
          ? await reading.tail(process, lines, { ...part, signal })
          : [];
      const from = resumed ?? first?.offset ?? part.from ?? 0;
      const told = followed(reading, live, process, { ...part, from }, signal);
      return streamNumbered(context, told);
    },
  );

  return [list, page, tail, grep, follow] as const;
}

type Part = NonNullable<Parameters<JournalReading['events']>[1]> & { readonly from: number };

interface Told {
  readonly event: JournalEvent;
  /** Where the record goes on: what is redacted has another length than what is on record. */
  readonly next?: number;
}

/** What is on record, redacted; then the live journal says when there is more of it. */
async function* followed(
  reading: JournalReading,
  { journal, isLive }: { readonly journal: Journal; readonly isLive: boolean },
  process: string,
  part: Part,
  signal: AbortSignal,
): AsyncGenerator<Told> {
  for (let { from } = part; ; ) {
    // In this order: nothing is added behind an exit.
    const { exit } = journal;
    const end = Math.max(journal.length, from);
    let held: Exclude<RecordedEvent, { type: 'exit' }> | undefined;
    for await (const event of reading.events(process, { ...part, from, to: end, signal })) {
      if (event.type === 'exit') continue;
      if (held !== undefined) yield { event: wireRecorded(held), next: event.offset };
      held = event;
    }
    if (held !== undefined) yield { event: wireRecorded(held), next: end };
    from = end;
    if (exit !== undefined) return yield { event: { type: 'exit', ...toWire(exit) } };
    if (!isLive)
      throw new GeodeError(
        'sandbox_stopped',
        `The sandbox ended before the exit of process ${process} was known`,
      );
    await grown(journal, from, signal);
  }
}

/** Until there is something behind an offset. */
async function grown(journal: Journal, from: number, signal: AbortSignal): Promise<void> {
  for await (const _ of journal.follow(from, { signal })) return;
}

function wireRecorded(event: RecordedEvent) {
  if (event.type === 'exit' || event.type === 'output-lost') return toWire(event);
  const { bytes, ...rest } = event;
  return { ...rest, ...wireBytes(bytes) };
}
