import type { Context } from 'hono';
import { bytesOf } from '../../../contract/encoding.ts';
import { streamBytes } from '../../../contract/socket-frames.ts';
import { runMessageSchema, runStdinMessageSchema } from '../../../contract/sockets.ts';
import type { Runs } from '../../../runs/index.ts';
import { type Conversation, parseMessage } from '../../conversation.ts';
import type { ApiEnv, ApiParts } from '../../environment.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, sandboxRefusals, security, socketAnswers } from '../../route.ts';
import { converse } from '../../upgrade.ts';
import { runOf, wireRunEvent } from './run.ts';

export function runSocket(runs: Runs, egress: ApiParts['egress']) {
  return defineRoute(
    {
      method: 'get',
      path: '/api/v1/runs/socket',
      summary: 'Run code over a WebSocket, with its stdin and output as they come',
      description:
        'The first message is a `RunMessage`. Binary messages are stdin then, until a `RunStdinMessage` ends it. The server answers with binary messages (a byte that is 1 for stdout or 2 for stderr, and the output) and with text messages that are each a `RunEvent`; the last is `end` or `problem`. A caller that leaves ends the run.',
      tags: ['runs'],
      security,
      middleware: requireScope('runs'),
      responses: { ...socketAnswers, ...sandboxRefusals },
    },
    (context) => converse(context, (conversation) => runIn(context, runs, egress, conversation)),
  );
}

async function runIn(
  context: Context<ApiEnv>,
  runs: Runs,
  egress: ApiParts['egress'],
  conversation: Conversation,
): Promise<void> {
  const first = await conversation.first(runMessageSchema);
  if (first === undefined) return;
  const { type: _, interactive, code, ...wire } = first;
  const { language, options } = runOf(context, { ...wire, code: '' }, egress);
  const signal = AbortSignal.any([conversation.signal, context.var.stopping]);
  const events = runs.stream(typeof code === 'string' ? code : bytesOf(code), language, {
    ...options,
    ...(interactive && { stdin: stdinOf(conversation) }),
    signal,
  });
  for await (const event of events) {
    if (event.type === 'stdout' || event.type === 'stderr')
      await conversation.write(streamBytes[event.type], event.bytes);
    else await conversation.say(wireRunEvent(event));
  }
}

async function* stdinOf(conversation: Conversation): AsyncGenerator<Uint8Array> {
  for await (const message of conversation.messages()) {
    if (message.type === 'bytes') yield message.bytes;
    else {
      parseMessage(runStdinMessageSchema, message);
      return;
    }
  }
}
