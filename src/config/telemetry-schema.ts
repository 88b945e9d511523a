import { z } from 'zod';
import { positive } from './setting-types.ts';

const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'a header name');
const headerText = z.string().regex(/^[\x20-\x7e]*$/, 'one line of plain text');

export const telemetrySettings = z
  .strictObject({
    enabled: z
      .boolean()
      .optional()
      .describe(
        'whether to send traces (default: if there is an address, here or in OTEL_EXPORTER_OTLP_ENDPOINT)',
      ),
    endpoint: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe('address of an OpenTelemetry collector for traces (OTLP over HTTP): http://127.0.0.1:4318'),
    headers: z
      .record(headerName, headerText)
      .default({})
      .describe('headers for the collector: { "x-scope-orgid": "home" }'),
    header_secrets: z
      .record(
        headerName,
        z.string().regex(/^([A-Za-z]+ )?\S+$/, 'the name of a secret, or Bearer and the name'),
      )
      .default({})
      .describe('headers with a secret by its name (geode secrets set): { "authorization": "Bearer otlp" }'),
    service_name: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('name of this host in traces (default: OTEL_SERVICE_NAME, else geode)'),
    sample: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('share of the traces to keep, from 0 to 1 (default: OTEL_TRACES_SAMPLER_ARG, else 1)'),
    timeout: positive.max(600).optional().describe('seconds for one request to the collector (default: 10)'),
    relay_rate: positive
      .default(100)
      .describe("spans per second from one user's sandboxes (--bind otlp); bursts of ten times that"),
  })
  .prefault({});
