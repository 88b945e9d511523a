/** Where traces go: the config, and OpenTelemetry's standard variables for what it leaves open. */
import { reasonOf } from '../base/errors.ts';
import type { Attributes } from '../base/spans.ts';
import type { Config } from '../config/schema.ts';
import type { Machine } from '../machine/machine.ts';

export interface TelemetrySettings {
  readonly url: URL;
  /** Without those from secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly resource: Attributes;
  readonly sample: number;
  readonly timeoutMs: number;
}

const defaultTimeoutMs = 10_000;

/** Undefined: no traces. `problem`: no traces, because a variable has a value that cannot be used. */
export function telemetrySettings(
  { telemetry }: Pick<Config, 'telemetry'>,
  machine: Pick<Machine, 'variable'>,
): TelemetrySettings | { readonly problem: string } | undefined {
  const { enabled, endpoint, headers, service_name, sample, timeout } = telemetry;
  const variable = (name: string) => machine.variable(name)?.trim() || undefined;
  const ofTraces = (name: string) =>
    variable(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? variable(`OTEL_EXPORTER_OTLP_${name}`);
  if (enabled === false) return undefined;
  const isOff = variable('OTEL_SDK_DISABLED') === 'true' || variable('OTEL_TRACES_EXPORTER') === 'none';
  if (isOff && enabled !== true && endpoint === undefined) return undefined;
  try {
    const url = urlOf(endpoint, variable);
    if (url === undefined)
      return enabled === true ? { problem: 'telemetry.enabled needs telemetry.endpoint' } : undefined;
    if (endpoint === undefined && ofTraces('PROTOCOL') === 'grpc')
      return { problem: 'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and only OTLP over HTTP is supported' };
    const attributes = pairsIn('OTEL_RESOURCE_ATTRIBUTES', variable('OTEL_RESOURCE_ATTRIBUTES'));
    const { 'service.name': named, ...resource } = attributes;
    return {
      url,
      // Headers in variables belong to the collector in variables.
      headers:
        endpoint === undefined
          ? { ...pairsIn('OTEL_EXPORTER_OTLP_HEADERS', ofTraces('HEADERS')), ...headers }
          : headers,
      serviceName: service_name ?? variable('OTEL_SERVICE_NAME') ?? named ?? 'geode',
      resource,
      sample: sample ?? sampleOf(variable('OTEL_TRACES_SAMPLER'), variable('OTEL_TRACES_SAMPLER_ARG')),
      timeoutMs: timeout === undefined ? timeoutOf(ofTraces('TIMEOUT')) : timeout * 1000,
    };
  } catch (error) {
    return { problem: reasonOf(error) };
  }
}

function urlOf(
  endpoint: string | undefined,
  variable: (name: string) => string | undefined,
): URL | undefined {
  const exact = variable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  if (endpoint === undefined && exact !== undefined)
    return checked('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', exact);
  const base = endpoint ?? variable('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (base === undefined) return undefined;
  const url = checked(endpoint === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'telemetry.endpoint', base);
  if (!url.pathname.endsWith('/v1/traces')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return url;
}

function checked(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new Error(`${name} is not an http:// or https:// address`);
  if (url.username !== '' || url.password !== '')
    throw new Error(`${name} has a password; use telemetry.header_secrets`);
  return url;
}

/** `name=value,name=value`, percent-encoded. The message does not show values. */
function pairsIn(variable: string, text = ''): Readonly<Record<string, string>> {
  const parts = text.split(',').filter((part) => part.trim() !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf('=');
      const name = part.slice(0, Math.max(0, at)).trim();
      let value: string;
      try {
        value = decodeURIComponent(part.slice(at + 1).trim());
      } catch {
        throw new Error(`${variable} is not percent-encoded`);
      }
      if (!/^[\x21-\x7e]+$/.test(name) || !/^[\x20-\x7e]*$/.test(value))
        throw new Error(`${variable} is not a list of name=value`);
      return [name, value] as const;
    }),
  );
}

function sampleOf(sampler = 'parentbased_always_on', argument = '1'): number {
  if (/always_off$/.test(sampler)) return 0;
  if (!/traceidratio$/.test(sampler)) return 1;
  const share = Number(argument);
  if (!(share >= 0 && share <= 1)) throw new Error('OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1');
  return share;
}

function timeoutOf(text: string | undefined): number {
  const ms = Number(text ?? defaultTimeoutMs);
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, 600_000) : defaultTimeoutMs;
}
