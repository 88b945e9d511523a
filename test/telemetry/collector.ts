/** A collector of OpenTelemetry: takes OTLP over HTTP as JSON, checks its form, and shows the spans. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';

const value = z.object({
  stringValue: z.string().optional(),
  intValue: z.string().optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
  arrayValue: z.unknown().optional(),
  kvlistValue: z.unknown().optional(),
});
const attributes = z
  .array(z.object({ key: z.string(), value }))
  .transform((list) =>
    Object.fromEntries(
      list.map(({ key, value: { stringValue, intValue, doubleValue, boolValue, ...rest } }) => [
        key,
        stringValue ??
          (intValue === undefined ? undefined : Number(intValue)) ??
          doubleValue ??
          boolValue ??
          rest,
      ]),
    ),
  );
const id = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const span = z.object({
  traceId: id(32),
  spanId: id(16),
  parentSpanId: id(16).optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string().regex(/^\d{19}$/),
  endTimeUnixNano: z.string().regex(/^\d{19}$/),
  attributes,
  events: z.array(z.object({ name: z.string(), timeUnixNano: z.string(), attributes })),
  links: z.array(z.object({ traceId: id(32), spanId: id(16) })),
  status: z.object({ code: z.number().optional(), message: z.string().optional() }),
});
const request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          spans: z.array(span),
        }),
      ),
    }),
  ),
});

export type CollectedSpan = z.infer<typeof span> & {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
};

export interface Collector extends AsyncDisposable {
  readonly url: string;
  /** Each once, although an exporter may repeat a request. */
  readonly spans: CollectedSpan[];
  /** The text of every request. */
  readonly texts: string[];
  readonly headers: IncomingHttpHeaders[];
  /** The status of its answers. */
  status: number;
  /** It answers 400 to a whole request with this in it, as a collector does that cannot read a part. */
  unreadable?: string;
  /** Its answers wait for this. */
  answering?: Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((message, response) => {
    void json(message).then(async (body) => {
      headers.push(message.headers);
      const { unreadable } = collector;
      if (unreadable !== undefined && JSON.stringify(body).includes(unreadable))
        return void response.writeHead(400).end();
      if (collector.status === 200 && message.url === '/v1/traces') {
        texts.push(JSON.stringify(body));
        for (const { resource, scopeSpans } of request.parse(body).resourceSpans)
          for (const { scope, spans: found } of scopeSpans)
            for (const each of found) {
              const isSame = (other: CollectedSpan) =>
                other.spanId === each.spanId && other.traceId === each.traceId;
              if (!spans.some(isSame))
                spans.push({ ...each, resource: resource.attributes, scope: scope.name });
            }
      }
      await collector.answering;
      response.writeHead(message.url === '/v1/traces' ? collector.status : 404).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    texts,
    headers,
    status: 200,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return collector;
}
