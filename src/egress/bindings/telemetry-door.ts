import { createServer } from 'node:http';
import { ServedClients } from '../../base/served-clients.ts';
import type { EgressOwner } from '../../seams/egress.ts';
import type { RelayedRequest, Telemetry, TelemetryRelay } from '../../seams/telemetry.ts';
import type { Broker } from '../proxy/broker.ts';
import type { Binding } from './bindings.ts';

const longestMs = 30_000;

interface TelemetryDoorOptions {
  readonly owner: EgressOwner;
  readonly broker: Broker;
  readonly binding: Binding;
  readonly telemetry?: Telemetry;
  readonly secrets?: () => readonly string[];
}

/** The local address that takes the traces of a sandbox. Every request is in the audit. */
export function openTelemetryDoor(options: TelemetryDoorOptions): TelemetryRelay {
  const { owner, broker, binding, telemetry, secrets = () => [] } = options;
  const note = ({ method, path, status, bytesIn }: RelayedRequest) =>
    broker.audit({
      request: { host: binding.upstream.hostname, port: 80, http: { method, path } },
      via: 'binding',
      rule: `bind ${binding.name}`,
      verdict: status < 400 ? 'allowed' : 'denied',
      status,
      bytesOut: bytesIn,
    });
  return telemetry?.relay(owner, { secrets, note }) ?? refusing(note);
}

/** For a host without a collector. Clients do not repeat what gets a 403. */
function refusing(note: (request: RelayedRequest) => void): TelemetryRelay {
  const server = createServer((message, response) => {
    note({ method: message.method ?? '', path: '/', status: 403, bytesIn: 0 });
    message.resume();
    response.writeHead(403, { 'content-type': 'application/json', connection: 'close' });
    response.end('{"message":"Geode: this host sends no traces; its operator sets telemetry.endpoint"}');
  });
  server.on('clientError', (_, socket) => socket.destroy());
  return new ServedClients(server, longestMs);
}
