import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';

const engineSchema = z.object({
  ServerVersion: z.string(),
  Runtimes: z.record(z.string(), z.object({ path: z.string() })),
});
const imageSchema = z.object({
  Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
});
const programFolders = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'];

/** The part of the Docker API that Docker and Podman share, as far as the tests need it. */
export class EngineApi {
  readonly socket: string;

  constructor(socket: string) {
    this.socket = socket;
  }

  async answers(): Promise<boolean> {
    return this.#call('GET', '/_ping', { timeoutMs: 15_000 }).then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async get(path: string): Promise<unknown> {
    return JSON.parse(await this.getText(path));
  }

  async getText(path: string): Promise<string> {
    return accepted(path, await this.#call('GET', path));
  }

  async post(path: string, body: unknown): Promise<unknown> {
    const answer = await this.#call('POST', path, { body: JSON.stringify(body), type: 'application/json' });
    const text = accepted(path, answer);
    return text === '' ? null : JSON.parse(text);
  }

  async delete(path: string): Promise<void> {
    accepted(path, await this.#call('DELETE', path));
  }

  /** Every container, as far as the engine still can. Only for an engine that is ours alone and about to stop. */
  async removeContainers(): Promise<void> {
    if (!(await this.answers())) return;
    const listed = z.array(z.object({ Id: z.string() })).parse(await this.get('/containers/json?all=1'));
    await Promise.allSettled(listed.map(({ Id }) => this.delete(`/containers/${Id}?force=1&v=1`)));
  }

  async description(): Promise<{ version: string; ociRuntimes: string[] }> {
    const { ServerVersion, Runtimes } = engineSchema.parse(await this.get('/info'));
    const installed = Object.entries(Runtimes).filter(([name, { path }]) => {
      // Podman lists every runtime it has heard of; Docker lists its internal names too.
      return [path, ...programFolders.map((folder) => `${folder}/${name}`)].some(existsSync);
    });
    return { version: ServerVersion, ociRuntimes: installed.map(([name]) => name).sort() };
  }

  /** Null when there is no such image. */
  async imageLabels(image: string): Promise<Readonly<Record<string, string>> | null> {
    const path = `/images/${image}/json`;
    const answer = await this.#call('GET', path);
    if (answer.status === 404) return null;
    const { Config } = imageSchema.parse(JSON.parse(accepted(path, answer)));
    return Config?.Labels ?? {};
  }

  /** Makes an image of one layer out of a root filesystem. `changes` are Dockerfile lines. */
  async importImage(image: string, rootfs: Readable, changes: readonly string[]): Promise<void> {
    // Podman ignores the parameter `tag`; both take the tag as part of the name.
    const query = new URLSearchParams({ fromSrc: '-', repo: image });
    for (const change of changes) query.append('changes', change);
    await this.#work(`/images/create?${query}`, { body: rootfs, type: 'application/x-tar' });
  }

  async pullImage(image: string): Promise<void> {
    await this.#work(`/images/create?${new URLSearchParams({ fromImage: image })}`);
  }

  async tagImage(image: string, repository: string, tag: string): Promise<void> {
    await this.#work(`/images/${image}/tag?${new URLSearchParams({ repo: repository, tag })}`);
  }

  async pushImage(repository: string, tag: string): Promise<void> {
    await this.#work(`/images/${repository}/push?tag=${tag}`);
  }

  /** Calls a long operation. The engine answers before it ends, so a failure may also be a line in the body. */
  async #work(path: string, options: CallOptions = {}): Promise<void> {
    const progress = accepted(path, await this.#call('POST', path, { timeoutMs: 300_000, ...options }));
    const failure = progress.split('\n').find((line) => line.includes('"error'));
    if (failure !== undefined) throw new Error(`${path} failed: ${failure}`);
  }

  #call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { body, type, timeoutMs = 60_000 } = options;
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          socketPath: this.socket,
          method,
          path,
          signal: AbortSignal.timeout(timeoutMs),
          headers: {
            host: 'engine',
            ...(type !== undefined && { 'content-type': type }),
            // Pushing wants credentials to be there, even none.
            'x-registry-auth': 'e30=',
          },
        },
        async (incoming) => {
          try {
            let text = '';
            for await (const chunk of incoming.setEncoding('utf8')) text += chunk;
            resolve({ status: incoming.statusCode ?? 0, text });
          } catch (thrown) {
            reject(thrown);
          }
        },
      );
      outgoing.on('error', reject);
      if (body instanceof Readable) pipeline(body, outgoing).catch(reject);
      else outgoing.end(body);
    });
  }
}

interface CallOptions {
  readonly body?: Readable | string;
  readonly type?: string;
  readonly timeoutMs?: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function accepted(path: string, { status, text }: Answer): string {
  if (status >= 200 && status < 300) return text;
  throw new Error(`the engine answered ${status} to ${path}: ${text.trim()}`);
}
