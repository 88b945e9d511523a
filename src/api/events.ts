/** Server-sent events: how work that takes long reports. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { ApiEnv } from './environment.ts';
import { errorOf, problemOf } from './problems.ts';

export function wantsEvents(context: Context): boolean {
  return context.req.header('accept')?.includes('text/event-stream') ?? false;
}

/** After the first byte no status is left to say a refusal with: it is the last event, `problem`. */
export function streamEvents(
  context: Context<ApiEnv>,
  status: 200 | 201,
  events: AsyncIterable<{ readonly type: string }>,
): Response {
  context.status(status);
  return streamSSE(context, async (stream) => {
    const send = (event: { readonly type: string }) =>
      stream.writeSSE({ event: event.type, data: JSON.stringify(event) });
    try {
      for await (const event of events) await send(event);
    } catch (thrown) {
      const error = errorOf(thrown, context);
      context.var.log[error.status >= 500 ? 'error' : 'info']({ err: error }, 'stream ended');
      await send({ type: 'problem', ...problemOf(error) });
    }
  });
}
