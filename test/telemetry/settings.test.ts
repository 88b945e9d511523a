import { expect, it } from 'vitest';
import { telemetrySettings } from '../../src/host/telemetry-settings.ts';

const unset = { headers: {}, header_secrets: {}, relay_rate: 100 };

function settings(telemetry: object, variables: Readonly<Record<string, string>> = {}) {
  const found = telemetrySettings(
    { telemetry: { ...unset, ...telemetry } },
    { variable: (name) => variables[name] },
  );
  return found !== undefined && 'url' in found ? { ...found, url: found.url.href } : found;
}

it.each<[what: string, telemetry: object, variables: Record<string, string>, expected: unknown]>([
  ['nothing', {}, {}, undefined],
  ['off beside a variable', { enabled: false }, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, undefined],
  [
    'OTEL_SDK_DISABLED',
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'true' },
    undefined,
  ],
  [
    'OTEL_TRACES_EXPORTER=none',
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' },
    undefined,
  ],
  ['on without an address', { enabled: true }, {}, { problem: 'telemetry.enabled needs telemetry.endpoint' }],
  [
    'the standard variables',
    {},
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://c:4318/base/',
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b, other=1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '2500',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=mine,deployment.environment.name=test',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    },
    {
      url: 'https://c:4318/base/v1/traces',
      headers: { 'api-key': 'a b', other: '1' },
      serviceName: 'mine',
      resource: { 'deployment.environment.name': 'test' },
      sample: 0.25,
      timeoutMs: 2500,
    },
  ],
  [
    'an address for traces, which is used as it is',
    {},
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/in', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://d' },
    { url: 'http://c/in', headers: {}, serviceName: 'geode', resource: {}, sample: 1, timeoutMs: 10_000 },
  ],
  [
    'the config before the variables, without the headers for another collector',
    { endpoint: 'http://own:4318', service_name: 'home', sample: 0, timeout: 3 },
    {
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=other',
      OTEL_SERVICE_NAME: 'no',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'x',
    },
    {
      url: 'http://own:4318/v1/traces',
      headers: {},
      serviceName: 'home',
      resource: {},
      sample: 0,
      timeoutMs: 3000,
    },
  ],
  [
    'gRPC',
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { problem: expect.stringContaining('only OTLP over HTTP') },
  ],
  [
    'an address that is none',
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'c:4318' },
    { problem: expect.stringContaining('http://') },
  ],
  [
    'a password in the address',
    { endpoint: 'http://me:secret@c' },
    {},
    { problem: expect.not.stringContaining('secret@') },
  ],
  [
    'headers that are none',
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
    { problem: expect.not.stringContaining('secret') },
  ],
])('traces with %s', (_, telemetry, variables, expected) => {
  expect(settings(telemetry, variables)).toEqual(expected);
});
