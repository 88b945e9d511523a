import type { Context } from 'hono';
import {
  agentEventSchema,
  agentEventsQuery,
  agentMessageSchema,
  agentTerminalSchema,
  conversationSchema,
  conversationStartSchema,
  conversationsSchema,
  interruptedSchema,
  openedTerminalSchema,
  permissionParams,
  permissionSchema,
  stoppedSchema,
} from '../../../contract/agents.ts';
import { bytesOf } from '../../../contract/encoding.ts';
import { toWire } from '../../../contract/names.ts';
import { problemSchema } from '../../../contract/problem.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import type { AgentEvent, Agents } from '../../../core/agent.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { ApiEnv } from '../../environment.ts';
import { lastEventId, signalOf, streamNumbered } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  eventStream,
  json,
  jsonBody,
  limitBulkBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { untilAborted } from '../../until-aborted.ts';
import { nameOf } from '../approvals/approvals.ts';

const path = '/api/v1/agents';
const common = { tags: ['agents'], security, middleware: requireScope('agents') };

export function agentRoutes(agents: Agents) {
  const of = (context: Context<ApiEnv>) => agents.of(context.var.caller.user);
  return [
    defineRoute(
      {
        method: 'get',
        path,
        summary: 'List the conversations with agents, the latest active first',
        ...common,
        responses: { 200: json('Those of the caller.', conversationsSchema), ...sandboxRefusals },
      },
      (context) => context.json({ conversations: of(context).list().map(toWire) }, 200),
    ),
    defineRoute(
      {
        method: 'get',
        path: `${path}/{chat}`,
        summary: 'One conversation',
        ...common,
        request: { params: chatParams },
        responses: { 200: json('The conversation.', conversationSchema), ...sandboxRefusals },
      },
      (context) => context.json(toWire(of(context).get(context.req.valid('param').chat)), 200),
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{chat}`,
        summary: 'Begin a conversation and its sandbox without a message',
        description: 'One that is there already is left as it is, if it agrees.',
        ...common,
        request: { params: chatParams, body: jsonBody('Who holds it.', conversationStartSchema) },
        responses: {
          200: json('The conversation.', conversationSchema),
          ...sandboxRefusals,
          ...bodyRefusals,
        },
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        const options = { ...context.req.valid('json'), signal: signalOf(context) };
        return context.json(toWire(await of(context).open(chat, options)), 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{chat}/terminal`,
        summary: "Open the agent's own screen for a person at a terminal",
        description:
          'A process of the sandbox with a terminal: the one that runs, or a new one in the same conversation. It is joined as any other, at `/sandboxes/{chat}/processes/{process}/socket`. While it runs, messages are refused with `agent_busy`.',
        ...common,
        request: { params: chatParams, body: jsonBody('Its size.', agentTerminalSchema) },
        responses: {
          200: json('The process.', openedTerminalSchema),
          ...sandboxRefusals,
          ...bodyRefusals,
        },
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        const { columns, rows, ...options } = context.req.valid('json');
        const size = { columns, rows };
        const opened = await of(context).terminal(chat, { ...options, size, signal: signalOf(context) });
        return context.json(toWire(opened), 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{chat}/messages`,
        summary: 'Send a message to the agent of a chat, and follow its turn',
        description:
          'Starts the conversation and its sandbox if need be. The id of each event is its number. The turn goes on when the caller leaves: the events are kept, and `GET …/events?after=N&follow=true` goes on reading.',
        ...common,
        middleware: [requireScope('agents'), limitBulkBody],
        request: { params: chatParams, body: jsonBody('The message.', agentMessageSchema) },
        responses: {
          200: eventStream('The turn; its last event is `result` or `error`.', agentEventSchema),
          402: json('The budget for models is spent.', problemSchema),
          ...sandboxRefusals,
          ...bodyRefusals,
        },
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        const { text, mark, driver, model, attachments = [] } = context.req.valid('json');
        const files = attachments.map(({ name, content }) => ({ name, bytes: bytesOf(content) }));
        const message = { text, mark, attachments: files };
        const turn = of(context).send(chat, message, { driver, model, signal: signalOf(context) });
        return await streamed(context, turn);
      },
    ),
    defineRoute(
      {
        method: 'get',
        path: `${path}/{chat}/events`,
        summary: 'Read the events of a conversation from any number on',
        ...common,
        request: { params: chatParams, query: agentEventsQuery },
        responses: { 200: eventStream('Oldest first.', agentEventSchema), ...sandboxRefusals },
      },
      (context) => {
        const { chat } = context.req.valid('param');
        const { after, follow } = context.req.valid('query');
        const agent = of(context);
        agent.get(chat);
        const from = lastEventId(context) ?? after;
        const signal = signalOf(context);
        const events = agent.events(chat, { after: from, follow, signal });
        return streamNumbered(context, numbered(untilAborted(events, signal)));
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{chat}/interrupt`,
        summary: 'End the turn that runs',
        description: 'Answers when everything that the turn ran has ended.',
        ...common,
        request: { params: chatParams },
        responses: { 200: json('Whether one ran.', interruptedSchema), ...sandboxRefusals },
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        const interrupted = await of(context).interrupt(chat, { signal: signalOf(context) });
        return context.json({ interrupted }, 200);
      },
    ),
    defineRoute(
      {
        method: 'post',
        path: `${path}/{chat}/permissions/{id}`,
        summary: 'Answer what an agent asks permission for',
        description: 'The same as deciding the approval of that id.',
        ...common,
        request: { params: permissionParams, body: jsonBody('The answer.', permissionSchema) },
        responses: { 204: { description: 'It is answered.' }, ...sandboxRefusals, ...bodyRefusals },
      },
      async (context) => {
        const { chat, id } = context.req.valid('param');
        const { answer } = context.req.valid('json');
        await of(context).answer(chat, id, answer, nameOf(context.var.caller));
        return context.body(null, 204);
      },
    ),
    defineRoute(
      {
        method: 'delete',
        path: `${path}/{chat}`,
        summary: 'End a conversation and forget it',
        description: 'The sandbox and its files stay.',
        ...common,
        request: { params: chatParams },
        responses: { 200: json('Whether there was one.', stoppedSchema), ...sandboxRefusals },
      },
      async (context) => {
        const { chat } = context.req.valid('param');
        return context.json({ stopped: await of(context).stop(chat, { signal: signalOf(context) }) }, 200);
      },
    ),
  ] as const;
}

/** A refusal before the first event has a status of its own. */
async function streamed(context: Context<ApiEnv>, events: AsyncGenerator<AgentEvent>) {
  const first = await events.next();
  if (first.done) throw new GeodeError('internal', 'A turn without events.');
  return streamNumbered(context, following(first.value, events));
}

async function* following(first: AgentEvent, rest: AsyncGenerator<AgentEvent>) {
  try {
    yield wireOf(first);
    yield* numbered(rest);
  } finally {
    await rest.return(undefined);
  }
}

async function* numbered(events: AsyncIterable<AgentEvent>) {
  for await (const event of events) yield wireOf(event);
}

function wireOf(event: AgentEvent) {
  return { event: toWire(event), next: event.seq };
}
