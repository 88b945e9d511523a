/** The API of the host that served this page; the cookie of the session goes with every request. */

import { parsedJson } from '../../src/base/json.ts';
import { createClient, GeodeError } from '../../src/client/client.ts';
import { problemError } from '../../src/client/send.ts';
import { chatSegment } from '../../src/contract/encoding.ts';
import { socketProtocol } from '../../src/contract/frames.ts';
import type { WireMachine } from '../../src/contract/server.ts';
import type { WireSession } from '../../src/contract/session.ts';

/** Where this page is: behind a proxy, some path. */
const basePath = location.pathname.replace(/[^/]*$/, '');

export const client = createClient({ url: location.origin + basePath });

/** A WebSocket to a path of the API. */
export function connect(path: string): WebSocket {
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  return new WebSocket(`${scheme}//${location.host}${basePath.slice(0, -1)}${path}`, [socketProtocol]);
}

async function asked(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(basePath.slice(0, -1) + path, init).catch((cause) => {
    throw new GeodeError('server_unreachable', 'The host does not answer', { cause });
  });
  if (response.ok) return response;
  const problem = problemError(parsedJson(await response.text()));
  throw problem ?? new GeodeError('server_unreachable', `The host answered ${response.status}`);
}

export async function readSession(): Promise<WireSession> {
  return (await asked('/session', {})).json();
}

export async function logIn(code: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const path = /^\/(?:[\w.~-]+\/)*$/.test(basePath) ? basePath : '/';
  await asked('/login', { method: 'POST', headers, body: JSON.stringify({ code, path }) });
}

export async function logOut(): Promise<void> {
  await asked('/session', { method: 'DELETE' });
}

export async function readMachine(): Promise<WireMachine> {
  return (await asked('/api/v1/machine', {})).json();
}

/** The address of a file of a sandbox, for a link. */
export function downloadUrl(chat: string, path: string): string {
  return `${basePath}api/v1/sandboxes/${chatSegment(chat)}/files/content?path=${encodeURIComponent(path)}`;
}
