/** Actions of clients until the host is killed, and checks of each afterwards. */
import { expect } from 'vitest';
import type { GeodeClient } from '../../src/client/client.ts';
import { events } from '../contracts/exec.ts';
import { eventually } from '../contracts/harness.ts';
import { outputOf, script, type Work } from '../fixtures/sandbox-actions.ts';

const users = ['ann', 'bob', 'ann.bob'] as const;
type User = (typeof users)[number];

/** One thing of one user that is there with a value, or not at all. */
interface Thing {
  readonly user: User;
  readonly name: string;
  /** One when the last change was acknowledged; the old and the new value while a change is under way. */
  allowed: readonly (string | null)[];
}

interface Spawned {
  readonly user: User;
  readonly chat: string;
  readonly id: string;
  readonly work: Work;
}

const kinds = ['entry', 'file', 'secret', 'schedule', 'sandbox'] as const;
type Kind = (typeof kinds)[number];

/** How a thing of each kind is made, changed and removed; its value is what it holds, or the id that it was given. */
const changes: Readonly<
  Record<Kind, (client: GeodeClient, name: string, value: string | null) => Promise<unknown>>
> = {
  entry: (client, id, value) =>
    value === null
      ? client.remove(id)
      : client.ingest({ id, content: value, category: 'core', source: 'test' }),
  async file(client, name, value) {
    await client.sandboxes.getOrCreate('room');
    const { files } = client.sandboxes.of('room');
    await (value === null ? files.remove(name) : files.write(name, value));
  },
  secret: (client, name, value) =>
    value === null ? client.secrets.remove(name) : client.secrets.set(name, `secret-value-${value}`),
  async schedule(client, text, value) {
    if (value !== null) return client.chats.schedule('line', { when: '0 9 1 1 *', text });
    const found = (await client.chats.schedules()).find((each) => each.text === text);
    return found && client.chats.unschedule(found.id);
  },
  sandbox: (client, chat, value) =>
    value === null ? client.sandboxes.remove(chat) : client.sandboxes.getOrCreate(chat),
};

/** A secret, a schedule and a sandbox are there or not. */
const present = 'there';

export class KillActions {
  /** Processes that were read to the end, and things that were looked at. */
  checked = 0;
  readonly #random: () => number;
  readonly #things = new Map<string, Thing & { readonly kind: Kind }>();
  #spawned: Spawned[] = [];
  #step = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** All users at once, until the host is gone. Throws errors that do not come from the end of the host. */
  async work(client: GeodeClient, isOver: (error: unknown) => boolean): Promise<void> {
    const untilOver = async (user: User) => {
      for (;;) await this.#do(user, client.as(user));
    };
    for (const { reason } of await Promise.allSettled(users.map(untilOver)).then((all) =>
      all.filter((each) => each.status === 'rejected'),
    ))
      if (!isOver(reason)) throw reason;
  }

  async #do(user: User, client: GeodeClient): Promise<void> {
    const below = (most: number) => Math.floor(this.#random() * most);
    if (below(6) === 0) {
      await client.sandboxes.getOrCreate('room');
      const work = { lines: below(2000), code: below(200), pauseMs: below(4) * 50 };
      const argv = ['/bin/sh', '-c', script(work)] as const;
      const { id } = await client.sandboxes.of('room').spawn({ argv, timeoutMs: null });
      this.#spawned.push({ user, chat: 'room', id, work });
      return;
    }
    const kind = kinds[below(kinds.length)] ?? 'entry';
    const name = `${kind}-${below(4)}`;
    const key = JSON.stringify([user, name]);
    const thing = this.#things.get(key) ?? { kind, user, name, allowed: [null] };
    this.#things.set(key, thing);
    const [now] = thing.allowed;
    // Create and remove alternate; a value is removed now and then.
    const flips = kind !== 'entry' && kind !== 'file';
    this.#step += 1;
    const removed = now !== null && (flips || below(4) === 0);
    const next = removed
      ? null
      : flips
        ? present
        : `value ${this.#step} of ${user} ${'long '.repeat(below(300))}`;
    thing.allowed = [now ?? null, next];
    await changes[kind](client, name, next);
    thing.allowed = [next];
  }

  /** Everything that was acknowledged is there, once; what was under way is done or not done. */
  async check(client: GeodeClient, when: string): Promise<void> {
    for (const user of users) await this.#checkUser(user, client.as(user), when);
    const spawned = this.#spawned;
    this.#spawned = [];
    await Promise.all(
      spawned.map(async ({ user, chat, id, work }) => {
        const { stdout, exit } = await events(await client.as(user).sandboxes.of(chat).attach(id));
        const whole = outputOf(work);
        expect(stdout === whole, `${when}: ${id} has ${stdout.length} of ${whole.length} bytes`).toBe(true);
        expect(exit, when).toMatchObject({ exitCode: work.code });
        this.checked += 1;
      }),
    );
  }

  async #checkUser(user: User, client: GeodeClient, when: string): Promise<void> {
    const things = [...this.#things.values()].filter((thing) => thing.user === user);
    const rooms = (await client.sandboxes.list()).map(({ chat, state }) => {
      expect(state, `${when}: ${user} ${chat}`).not.toBe('unknown');
      return chat;
    });
    const schedules = (await client.chats.schedules()).map(({ text }) => text);
    const secrets = (await client.secrets.list()).map(({ name }) => name);
    for (const [what, names] of Object.entries({ rooms, schedules, secrets }))
      expect(new Set(names).size, `${when}: ${user} has ${what} twice: ${names.join()}`).toBe(names.length);
    const there = (names: readonly string[], name: string) => (names.includes(name) ? present : null);
    const files = rooms.includes('room') ? client.sandboxes.of('room').files : undefined;
    if (files) await client.sandboxes.getOrCreate('room');
    const seen: Readonly<Record<Kind, (name: string) => string | null | Promise<string | null>>> = {
      entry: (id) => client.get(id).then(({ content }) => content, missing),
      file: async (name) => (await files?.readText(name).catch(missing)) ?? null,
      secret: (name) => there(secrets, name),
      schedule: (name) => there(schedules, name),
      sandbox: (name) => there(rooms, name),
    };
    for (const thing of things) {
      const found = await seen[thing.kind](thing.name);
      expect(thing.allowed, `${when}: ${user} ${thing.name} is ${found?.slice(0, 60)}`).toContain(found);
      // A change that was under way is decided now, either way.
      thing.allowed = [found];
      this.checked += 1;
      if (thing.kind === 'entry' && found !== null) await this.#checkFound(client, thing.name, found, when);
    }
    const entries = things.filter(({ kind, allowed: [now] }) => kind === 'entry' && now !== null);
    expect((await client.list({ limit: 1 })).total, `${when}: entries of ${user}`).toBe(entries.length);
  }

  /** By its words and by its meaning, as soon as what was not indexed yet has been: both indexes have it. */
  async #checkFound(client: GeodeClient, id: string, content: string, when: string): Promise<void> {
    const results = await eventually(
      async () => {
        const answer = await client.search(content.slice(0, 60), {});
        return answer.degraded.length === 0 && answer.results;
      },
      `both halves of a search ${when}`,
      60_000,
    );
    const ids = results.map((each) => each.id);
    expect(ids, `${when}: ${id}`).toContain(id);
  }
}

function missing(error: unknown): null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  if (code !== 'entry_not_found' && code !== 'file_not_found') throw error;
  return null;
}
