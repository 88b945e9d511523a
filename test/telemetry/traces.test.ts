import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { loadConfig } from '../../src/config/load.ts';
import { checkTelemetry } from '../../src/host/configured-telemetry.ts';
import type { OpenHost } from '../../src/host/open-host.ts';
import { eventually } from '../contracts/harness.ts';
import { type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';
import { hostWorld } from '../host/world.ts';
import { type CollectedSpan, type Collector, startCollector } from './collector.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const patience = { timeout: 180_000 };
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url));
const providerKey = 'the-key-of-the-provider';
/** Of a caller, which sampled it. */
const outer = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) };
const traceparent = `00-${outer.traceId}-${outer.spanId}-01`;

function found(
  collector: Collector,
  name: string | RegExp,
  more: (span: CollectedSpan) => boolean = () => true,
) {
  const wanted = (span: CollectedSpan) =>
    (typeof name === 'string' ? span.name === name : name.test(span.name)) && more(span);
  return eventually(async () => collector.spans.find(wanted) ?? false, `a span ${name}`);
}

/** The names from this span up to the root, as far as they were collected. */
function ancestry(collector: Collector, span: CollectedSpan): readonly string[] {
  const parent = collector.spans.find(({ spanId }) => spanId === span.parentSpanId);
  return [span.name, ...(parent === undefined ? [] : ancestry(collector, parent))];
}

function counted({ parts }: Pick<OpenHost, 'parts'>, wanted: RegExp) {
  const look = async () => wanted.test((await parts.measurements?.text()) ?? '');
  return eventually(look, `${wanted} in the metrics`);
}

describe('traces of a host', patience, () => {
  it('OPS-4: one trace joins a chat message with its turn, its model calls, its tools and their commands, and has no text of them', async () => {
    await using collector = await startCollector();
    const replies: Reply[] = [
      { text: 'I look.', calls: [{ tool: 'shell', input: { command: 'echo private-words; exit 3' } }] },
      { text: 'An answer in private-words.', usage: { input: 1200, output: 34 } },
    ];
    await using server = await startModelServer(() => replies.shift() ?? { status: 500 });
    await using world = hostWorld({
      GEODE_TELEMETRY_ENDPOINT: collector.url,
      GEODE_TELEMETRY_HEADERS: JSON.stringify({ 'x-scope-orgid': 'home' }),
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'anthropic', base_url: `${server.url}/v1`, api_key: providerKey },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      GEODE_AGENTS_PERMISSIONS: 'all',
    });
    const opened = await world.open();
    const client = createClient(unixTransport(opened.socket.path));
    await client.chats.post('work', { text: 'Look for private-words, please.' });
    const message = await found(collector, 'process message');
    const { traceId } = message;
    await found(collector, /^POST \/api\/v1\/chats\//, (span) => span.traceId === traceId);
    expect(ancestry(collector, await found(collector, 'exec', (span) => span.traceId === traceId))).toEqual([
      'exec',
      'execute_tool shell',
      'invoke_agent builtin',
      'process message',
      expect.stringMatching(/^POST \/api\/v1\/chats\//),
    ]);
    const command = await found(collector, 'exec');
    expect(command.attributes).toMatchObject({ 'process.exit.code': 3, 'geode.runtime': 'native' });
    const calls = collector.spans.filter(({ name }) => name === 'chat some-model');
    expect(calls.map((call) => [call.traceId, call.kind, ancestry(collector, call)[1]])).toEqual([
      [traceId, 3, 'invoke_agent builtin'],
      [traceId, 3, 'invoke_agent builtin'],
    ]);
    expect(calls.at(-1)?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'some-model',
      'gen_ai.usage.input_tokens': 1200,
      'gen_ai.usage.output_tokens': 34,
    });
    const start = await found(collector, 'sandbox start');
    expect(ancestry(collector, start)).toContain('process message');
    const turn = await found(collector, 'invoke_agent builtin');
    expect(turn.attributes).toMatchObject({ 'geode.chat': 'work', 'geode.turn.outcome': 'done' });
    expect(turn.resource).toMatchObject({ 'service.name': 'geode', 'service.version': 'test' });
    const everything = collector.texts.join();
    for (const text of ['private-words', 'exit 3', providerKey, 'I look'])
      expect(everything).not.toContain(text);
    expect(collector.headers[0]?.['x-scope-orgid']).toBe('home');
    await counted(opened.host, /geode_telemetry_spans_total\{source="host",outcome="sent"\} \d+/);
  });

  it('OPS-4: the trace of a caller goes on in a run if the key may join it, and is only linked otherwise', async () => {
    await using collector = await startCollector();
    await using world = hostWorld({ GEODE_TELEMETRY_ENDPOINT: `${collector.url}/` });
    const { host, gateway } = await world.open();
    const call = async (scopes: ('admin' | 'runs')[]) => {
      const { secret } = host.keys.create({ user: 'ann', scopes });
      const answer = await fetch(`${gateway.url}/api/v1/runs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${secret}`,
          'content-type': 'application/json',
          traceparent,
        },
        body: JSON.stringify({
          language: 'shell',
          code: 'echo "$TRACEPARENT"; exit 4',
        }),
      });
      const text = await answer.text();
      expect(answer.status, text).toBe(200);
      return text;
    };
    const answer = await call(['admin', 'runs']);
    const run = await found(collector, 'run shell');
    expect(run.traceId).toBe(outer.traceId);
    expect(answer).toContain(`00-${outer.traceId}-${run.spanId}-01`);
    expect(run.attributes).toMatchObject({ 'process.exit.code': 4, 'geode.user': 'ann' });
    expect(run.events.map(({ name }) => name)).toEqual(['sandbox-ready', 'code-start', 'exit']);
    const request = await found(collector, 'POST /api/v1/runs');
    expect(request).toMatchObject({ parentSpanId: outer.spanId, kind: 2, links: [] });
    expect(request.attributes).toMatchObject({ 'geode.operation': expect.stringMatching(/^runs\./) });
    expect(run.parentSpanId).toBe(request.spanId);
    const start = await found(collector, 'sandbox start', ({ parentSpanId }) => parentSpanId === run.spanId);
    expect(start.attributes).toMatchObject({ 'geode.runtime': 'native' });

    expect(await call(['runs'])).not.toContain(outer.traceId);
    const linked = await found(collector, 'POST /api/v1/runs', ({ links }) => links.length > 0);
    expect(linked.links).toEqual([outer]);
    expect(linked.traceId).not.toBe(outer.traceId);
    expect(linked.parentSpanId).toBeUndefined();
    // A request without a key gets no span at all.
    expect(
      (await fetch(`${gateway.url}/api/v1/runs`, { method: 'POST', headers: { traceparent } })).status,
    ).toBe(401);
    expect(collector.spans.filter(({ name }) => name === 'POST /api/v1/runs')).toHaveLength(2);
  });

  it('OPS-4: work goes on while the collector is away, and nothing but a count and one line of the log shows it', async () => {
    const collector = await startCollector();
    await collector[Symbol.asyncDispose]();
    await using world = hostWorld({ GEODE_TELEMETRY_ENDPOINT: collector.url });
    const { host, socket } = await world.open();
    const warnings: unknown[] = [];
    const warn = host.log.warn.bind(host.log);
    host.log.warn = (...given: unknown[]) => {
      warnings.push(given[0]);
      warn(...(given as [string]));
    };
    const client = createClient(unixTransport(socket.path));
    await client.sandboxes.getOrCreate('one');
    const { exitCode } = await client.sandboxes.of('one').exec({ argv: ['true'] });
    expect(exitCode).toBe(0);
    await eventually(async () => warnings.length > 0, 'a warning');
    await counted(host, /outcome="lost"\} [1-9]/);
    expect(warnings).toEqual([expect.stringContaining(`Traces cannot be sent to ${collector.url}`)]);
    const { config } = await loadConfig(world.machine);
    expect(await checkTelemetry(config, world.machine)).toMatchObject([
      { state: 'warning', found: expect.stringContaining(collector.url) },
    ]);
  });

  it('sends the value of a secret as a header, and shows it neither in the settings nor in doctor', async () => {
    await using collector = await startCollector();
    await using world = hostWorld({
      GEODE_TELEMETRY_ENDPOINT: collector.url,
      GEODE_TELEMETRY_HEADERS: JSON.stringify({ 'x-token': 'plain-token-0123456789' }),
      GEODE_TELEMETRY_HEADER_SECRETS: JSON.stringify({ authorization: 'Bearer otlp', 'x-key': 'otlp' }),
    });
    const { host, socket } = await world.open();
    const client = createClient(unixTransport(socket.path));
    await client.secrets.set('otlp', 'a-secret-of-the-collector');
    await client.sandboxes.list();
    await found(collector, /^GET /);
    expect(collector.headers.at(-1)).toMatchObject({
      authorization: 'Bearer a-secret-of-the-collector',
      'x-key': 'a-secret-of-the-collector',
    });
    const checks = await host.app.doctor();
    expect(checks.find(({ name }) => name === 'traces')).toMatchObject({ state: 'ok' });
    const shown = JSON.stringify([checks, await await fetchSettings(socket.path)]);
    expect(shown).not.toMatch(/a-secret-of-the-collector|plain-token/);
  });
});

async function fetchSettings(path: string): Promise<unknown> {
  return createClient(unixTransport(path)).settings();
}

describe.skipIf(!bubblewrap.available)(`traces of programs in a sealed sandbox${skipped}`, patience, () => {
  it('OPS-4: the SDK of OpenTelemetry sends spans as protobuf and as JSON, which arrive with the marks of their sandbox and cannot claim others', async () => {
    await using collector = await startCollector();
    await using world = hostWorld({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_TELEMETRY_ENDPOINT: collector.url,
      GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify([modules, fixtures, dirname(process.execPath)]),
    });
    const { host, socket } = await world.open();
    const client = createClient(unixTransport(socket.path));
    await client.secrets.set('token', 'a-secret-of-the-user-0123456789');
    await client.sandboxes.getOrCreate('sealed', {
      egress: { bindings: ['otlp'] },
      mounts: [
        { source: process.execPath, target: '/opt/otel/node' },
        { source: join(modules, '@opentelemetry'), target: '/opt/otel/node_modules/@opentelemetry' },
        { source: join(fixtures, 'otel-sender.ts'), target: '/opt/otel/send.mts' },
      ],
    });
    const sandbox = client.sandboxes.of('sealed');
    const [{ id } = { id: '' }] = await client.sandboxes.list();
    for (const form of ['protobuf', 'json']) {
      collector.spans.length = 0;
      const { stdout, stderr } = await sandbox.exec({
        argv: ['/opt/otel/node', '/opt/otel/send.mts', form],
        env: { LEAK: 'a-secret-of-the-user-0123456789' },
        timeoutMs: 90_000,
      });
      expect(stderr).toBe('');
      const { traceId, problems } = JSON.parse(stdout);
      expect(problems).toEqual([]);
      const span = await found(collector, 'inner work');
      const command = await found(collector, 'exec');
      expect(span).toMatchObject({
        traceId,
        parentSpanId: command.spanId,
        kind: 3,
        scope: 'my-scope',
        status: { code: 2, message: 'it broke' },
        links: [{ traceId: '1'.repeat(32), spanId: '2'.repeat(16) }],
      });
      expect(command.traceId).toBe(traceId);
      expect(span.attributes).toEqual({
        text: 'ünïcode 🎉',
        number: -42,
        share: 0.5,
        yes: true,
        list: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
        secret: expect.not.stringContaining('a-secret'),
      });
      expect(span.events).toMatchObject([{ name: 'half way', attributes: { step: 1 } }]);
      expect(span.resource).toMatchObject({
        'service.name': 'sandbox',
        'service.namespace': 'geode.sandbox',
        'service.version': '7',
        'geode.relayed': true,
        'geode.sandbox.id': id,
        'geode.user': 'local',
        'geode.chat': 'sealed',
      });
      expect(collector.texts.join()).not.toMatch(
        /another-sandbox|forged|a private prompt|a-secret-of-the-user/,
      );
    }
    // The sandbox has no other way to the collector.
    const direct = `import urllib.request as u; u.urlopen('${collector.url}/v1/traces', b'{}', timeout=30)`;
    expect((await sandbox.exec({ argv: ['python3', '-c', direct], timeoutMs: 60_000 })).exitCode).not.toBe(0);
    const log = await client.egress.log({});
    expect(log).toContainEqual(
      expect.objectContaining({ rule: 'bind otlp', path: '/v1/traces', status: 200 }),
    );
    await counted(host, /source="sandbox",outcome="sent"\} 2\n/);
  });

  it('refuses traces of a sandbox with the reason while the host has no collector', async () => {
    await using world = hostWorld({ GEODE_RUNTIME_NAME: 'bubblewrap' });
    const { socket } = await world.open();
    const client = createClient(unixTransport(socket.path));
    await client.sandboxes.getOrCreate('quiet', { egress: { bindings: ['otlp'] } });
    const code = `
import os, urllib.request, urllib.error
try: urllib.request.urlopen(os.environ['OTEL_EXPORTER_OTLP_ENDPOINT'] + '/v1/traces', b'x' * 100000, timeout=40)
except urllib.error.HTTPError as error: print(error.code, error.read().decode())
print(os.environ.get('TRACEPARENT'))
`;
    const { stdout, stderr } = await client.sandboxes
      .of('quiet')
      .exec({ argv: ['python3', '-c', code], timeoutMs: 60_000 });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^403 .*this host sends no traces.*\nNone\n$/);
    await expect(
      client.sandboxes.getOrCreate('wrong', { egress: { bindings: ['otlp=http://10.0.0.1:4318'] } }),
    ).rejects.toThrow('leads to the collector of the host');
  });
});
