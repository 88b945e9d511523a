/** Server-sent events as OpenAI's clients read them. */
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { ApiEnv } from '../../api/environment.ts';
import { untilAborted } from '../../api/until-aborted.ts';

const beatMs = 15_000;

/** An event with a type is named by it. A failure of the source becomes the last event. */
export function sendData(
  context: Context<ApiEnv>,
  source: AsyncIterable<object | string>,
  failed: (thrown: unknown) => object,
): Response {
  return streamSSE(context, async (stream) => {
    const send = (item: object | string) =>
      stream.writeSSE({
        data: typeof item === 'string' ? item : JSON.stringify(item),
        ...(typeof item === 'object' && 'type' in item && { event: String(item.type) }),
      });
    const beat = setInterval(() => void stream.write(': alive\n\n'), beatMs);
    try {
      for await (const item of untilAborted(source, context.req.raw.signal)) await send(item);
    } catch (thrown) {
      await send(failed(thrown));
    } finally {
      clearInterval(beat);
    }
  });
}
