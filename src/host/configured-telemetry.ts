import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { GeodeError, reasonOf } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../config/schema.ts';
import { UpstreamTls } from '../egress/inspection/upstream-tls.ts';
import type { Machine } from '../machine/machine.ts';
import type { MachineCheck } from '../seams/doctor.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import { upstreamCaOf } from './configured-egress.ts';
import { storedSecret } from './stored-secret.ts';
import { type TelemetrySettings, telemetrySettings } from './telemetry-settings.ts';

const checkTimeoutMs = 5_000;

/** The traces of this host. Undefined without an address for them; then nothing of it is loaded. */
export async function openConfiguredTelemetry(
  config: Config,
  machine: Machine,
  { log, version }: { readonly log: Log; readonly version: string },
): Promise<Telemetry | undefined> {
  const settings = telemetrySettings(config, machine);
  if (settings === undefined) return undefined;
  if ('problem' in settings) {
    log.warn(`There are no traces: ${settings.problem}.`);
    return undefined;
  }
  const { openTelemetry } = await import('../telemetry/open-telemetry.ts');
  const tls = new UpstreamTls(upstreamCaOf(config));
  return openTelemetry({
    ...settings,
    ...{ log, version },
    headers: () => headersOf(config, settings),
    tls: () => tls.context,
    relayRate: config.telemetry.relay_rate,
  });
}

/** Sends a request without spans to the collector. No check without an address. */
export async function checkTelemetry(config: Config, machine: Machine): Promise<readonly MachineCheck[]> {
  const settings = telemetrySettings(config, machine);
  if (settings === undefined) return [];
  const name = 'traces';
  if ('problem' in settings)
    return [{ name, state: 'warning', found: settings.problem, fix: 'See docs/operate.md, "Traces".' }];
  const { origin } = settings.url;
  try {
    const status = await sendNothing(config, settings);
    if (status < 300) return [{ name, state: 'ok', found: `sent to ${origin}` }];
    const fix = 'Check telemetry.endpoint, telemetry.headers and telemetry.header_secrets.';
    return [{ name, state: 'warning', found: `${origin} answered ${status}`, fix }];
  } catch (error) {
    const fix = 'Start the collector, or change telemetry.endpoint; until then traces are lost.';
    return [{ name, state: 'warning', found: `${origin}: ${reasonOf(error)}`, fix }];
  }
}

function headersOf(config: Config, { headers }: TelemetrySettings): Readonly<Record<string, string>> {
  const secrets = Object.entries(config.telemetry.header_secrets).map(([name, named]) => {
    const [secret = '', scheme] = named.split(' ').reverse();
    const value = storedSecret(config, secret);
    if (value !== undefined) return [name, scheme === undefined ? value : `${scheme} ${value}`] as const;
    throw new GeodeError(
      'secret_missing',
      `telemetry.header_secrets needs the secret ${secret}, which is not set`,
      { hint: `Set it: geode secrets set ${secret} < FILE` },
    );
  });
  return { ...headers, ...Object.fromEntries(secrets) };
}

async function sendNothing(config: Config, settings: TelemetrySettings): Promise<number> {
  const { url } = settings;
  const isSecure = url.protocol === 'https:';
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = (isSecure ? secureRequest : plainRequest)(url, {
    method: 'POST',
    agent: false,
    signal: AbortSignal.timeout(checkTimeoutMs),
    headers: { ...headersOf(config, settings), 'content-type': 'application/json' },
    ...(isSecure && { secureContext: new UpstreamTls(upstreamCaOf(config)).context }),
  });
  request.on('error', reject);
  request.on('response', (answer) => {
    resolve(answer.statusCode ?? 0);
    answer.destroy();
  });
  request.end('{"resourceSpans":[]}');
  return promise;
}
