/** Resources whose changes one connection subscribed to. */
import { posix } from 'node:path';
import type { Events } from '../../seams/events.ts';
import type { Files } from '../../seams/files.ts';
import { entryIdOf, type SessionResources } from './resources.ts';

const mostOfConnection = 256;

export interface SubscriptionsOptions {
  readonly user: string;
  readonly files: Files;
  readonly resources: SessionResources;
  readonly events: Pick<Events, 'read'>;
  readonly onChange: (uri: string) => void;
}

export class Subscriptions implements Disposable {
  readonly #options: SubscriptionsOptions;
  readonly #watching = new Map<string, AbortController>();

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Idempotent. Ignores URIs that are not resources, and subscriptions above the limit. */
  add(uri: string): void {
    if (this.#watching.has(uri) || this.#watching.size >= mostOfConnection) return;
    const { resources } = this.#options;
    const path = resources.pathOf(uri);
    const entry = entryIdOf(uri);
    if (path === undefined && entry === undefined) return;
    const stop = new AbortController();
    this.#watching.set(uri, stop);
    const following = path === undefined ? this.#entry(uri, entry, stop) : this.#file(uri, path, stop);
    // A missing folder or an ended sandbox sends no more changes.
    following.catch(() => {}).finally(() => this.remove(uri));
  }

  remove(uri: string): void {
    this.#watching.get(uri)?.abort();
    this.#watching.delete(uri);
  }

  [Symbol.dispose](): void {
    for (const uri of [...this.#watching.keys()]) this.remove(uri);
  }

  /** Watch the folder, because programs replace files atomically. */
  async #file(uri: string, path: string, { signal }: AbortController): Promise<void> {
    const { files, onChange } = this.#options;
    for await (const event of files.watch(posix.dirname(path), { signal })) {
      if (event.type === 'overflow' || posix.basename(event.path) === posix.basename(path)) onChange(uri);
    }
  }

  async #entry(uri: string, id: string | undefined, { signal }: AbortController): Promise<void> {
    const { events, user, onChange } = this.#options;
    for await (const event of events.read(user, { signal })) {
      const isStored = event.type === 'entry-stored' || event.type === 'entry-removed';
      if (event.type === 'gap' || event.type === 'entries-stored' || (isStored && event.key === id))
        onChange(uri);
    }
  }
}
