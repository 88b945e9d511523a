/** A real server on a free loopback port with a real memory, and callers with keys of their own. */

import { join } from 'node:path';
import type { ApiOptions, ApiParts } from '../../src/api/environment.ts';
import { createLog } from '../../src/api/log.ts';
import { type ApiServer, startApi } from '../../src/api/server.ts';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { type KeyStore, openKeys, type Scope, scopes } from '../../src/identity/keys.ts';
import type { MemoryStore } from '../../src/seams/memory.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestMemory } from './memory-fixture.ts';

export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly api: ApiServer;
  readonly keys: KeyStore;
  readonly memory: MemoryStore;
  /** The options that the server was started with. */
  readonly given: ApiParts;
  /** Each line that was logged. */
  readonly log: string[];
  /** A new key's secret. */
  key(user: string, granted?: readonly Scope[]): string;
  client(user: string): GeodeClient;
  /** Someone whose memory is empty, through the client and by hand. */
  newcomer(): { readonly call: Caller; readonly client: GeodeClient };
  /** A caller that sends what a client would not. */
  caller(user: string, granted?: readonly Scope[]): Caller;
}

export type Caller = (path: string, init?: CallerInit) => Promise<Reply>;

interface CallerInit {
  readonly method?: string;
  readonly json?: unknown;
  readonly body?: string | FormData | Uint8Array<ArrayBuffer> | ReadableStream;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed, where it is JSON. */
  readonly body: unknown;
}

export interface TestServerOptions extends Partial<ApiOptions> {
  readonly auth?: 'keys' | 'off';
  /** More parts than memory; the test owns them. */
  readonly parts?: Partial<ApiParts>;
  readonly openMemory?: (dir: string) => Promise<MemoryStore>;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { auth = 'keys', openMemory = openTestMemory, parts: more = {}, ...overrides } = options;
  const folder = temporaryFolder();
  const memory = await openMemory(folder.path);
  const keys = openKeys(join(folder.path, 'keys.db'));
  const log: string[] = [];
  const parts = {
    memory,
    keys: auth === 'off' ? ('off' as const) : keys,
    log: createLog('info', (line) => log.push(line)),
    version: '0.0.0-test',
    ...more,
  };
  const api = await startApi(parts, { port: 0, ...unlimited, ...overrides });
  const key = (user: string, granted: readonly Scope[] = scopes) =>
    keys.create({ user, scopes: granted }).secret;

  const client = (user: string) => createClient({ url: api.url, key: key(user) });
  const caller = (user: string, granted?: readonly Scope[]) => callerWith(api.url, key(user, granted));
  let newcomers = 0;

  return {
    url: api.url,
    api,
    keys,
    memory,
    given: parts,
    log,
    key,
    client,
    caller,
    newcomer() {
      newcomers += 1;
      return { call: caller(`newcomer-${newcomers}`), client: client(`newcomer-${newcomers}`) };
    },
    async [Symbol.asyncDispose]() {
      await api.stop();
      await memory.stop();
      keys[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

const unlimited = { rate: { perMinute: 1e9, burst: 1e9 }, failureRate: { perMinute: 1e9, burst: 1e9 } };

export function callerWith(url: string, key?: string): Caller {
  return async (path, { method, json, body, headers } = {}) => {
    const response = await fetch(url + path, {
      method: method ?? (json === undefined && body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      ...(body instanceof ReadableStream && { duplex: 'half' as const }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
