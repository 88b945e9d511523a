import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Denial } from '../../seams/egress.ts';

const longestPhrase = 200;

/** The answer to a refused client. Most clients show only the reason phrase, so it contains the cause. */
export interface Refusal {
  readonly status: 400 | 402 | 403 | 502 | 503;
  readonly reason: string;
  readonly body: string;
}

export function refusalOf({ reason, rule, ask }: Denial): Refusal {
  const how = ask === '' ? '' : `To ask for it: ${ask}\n`;
  return { status: 403, reason, body: `Geode refused this connection: ${reason}.\nRule: ${rule}\n${how}` };
}

export function failure(reason: string, status: 400 | 502 | 503 = 502): Refusal {
  return { status, reason, body: `Geode could not do this: ${reason}.\n` };
}

/** Printable ASCII only, so that a sandbox cannot start a header line. */
function phraseOf(reason: string): string {
  return `Geode: ${reason}`.replace(/[^\x20-\x7e]/g, '?').slice(0, longestPhrase);
}

export function answerRefused(response: ServerResponse, { status, reason, body }: Refusal): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, phraseOf(reason), {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-geode': 'refused',
  });
  response.end(body);
}

/** The answer to a CONNECT or an upgrade, whose socket belongs to the proxy. */
export function answerRefusedOn(socket: Duplex, { status, reason, body }: Refusal): void {
  socket.end(
    `HTTP/1.1 ${status} ${phraseOf(reason)}\r\ncontent-type: text/plain; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-geode: refused\r\nconnection: close\r\n\r\n${body}`,
  );
}
