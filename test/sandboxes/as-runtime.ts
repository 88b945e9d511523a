import { GeodeError } from '../../src/base/errors.ts';
import { roomOf } from '../../src/runtimes/rooms.ts';
import type { PersistentSandbox, Sandboxes, SandboxStatus } from '../../src/seams/persistent.ts';
import type { RuntimeName } from '../../src/seams/runtime.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { availableOf, type Harness, type World } from '../contracts/harness.ts';
import { sandboxWorld } from './world.ts';

const user = 'somebody';

/** Sandboxes that stay, in the shape of a runtime, so that its suite can be run on them as it is. */
export async function openPersistentHarness(name: RuntimeName, world: World = {}): Promise<Harness> {
  const place = await sandboxWorld(name, world);
  const { runtime, options } = place;
  const found = await availableOf(runtime);
  let hosting: Promise<Sandboxes> | undefined;
  const mine = async () => {
    hosting ??= place.host();
    return (await hosting).of(user);
  };
  const letGo = async () => {
    const host = await hosting;
    hosting = undefined;
    await host?.[Symbol.asyncDispose]();
  };
  const byId = async (id: string): Promise<SandboxStatus> => {
    const status = (await (await mine()).list()).find((candidate) => candidate.id === id);
    if (status !== undefined) return status;
    throw new GeodeError('sandbox_gone', `There is no sandbox ${id}.`);
  };
  const asSandbox = (sandbox: PersistentSandbox): Sandbox => {
    const remove = async () => {
      await (await mine()).remove(sandbox.chat);
    };
    return {
      ...sandbox,
      scratch: '/tmp',
      env: {},
      get activity() {
        return sandbox.activity;
      },
      get end() {
        return sandbox.end;
      },
      ping: async () => void (await sandbox.files.exists('.')),
      release: letGo,
      halt: async () => (await mine()).stop(sandbox.chat),
      stop: remove,
      [Symbol.asyncDispose]: remove,
    };
  };
  let made = 0;
  const chats = new Set<string>();
  const asRuntime: Harness['runtime'] = {
    ...runtime,
    async open({ id, owner: _, ...spec }, cancel) {
      if (id !== undefined && chats.has(roomOf(options, id).id))
        throw new GeodeError('invalid_input', 'There is one already.');
      made += 1;
      const chat = id ?? `chat ${made}`;
      chats.add(chat);
      return asSandbox(await (await mine()).getOrCreate(chat, spec, cancel));
    },
    async adopt(id) {
      const { chat, state } = await byId(id);
      if (state !== 'running') throw new GeodeError('sandbox_gone', `The sandbox ${id} does not run.`);
      return asSandbox(await (await mine()).start(chat));
    },
    start: async (id, cancel) => asSandbox(await (await mine()).start((await byId(id)).chat, cancel)),
    async assign(id, owner) {
      await (await mine()).label((await byId(id)).chat, { owner });
    },
    async list() {
      const statuses = hosting === undefined ? [] : await (await mine()).list();
      return (await runtime.list()).map((facts) => ({
        ...facts,
        owner: statuses.find(({ id }) => id === facts.id)?.labels.owner ?? null,
      }));
    },
  };
  return {
    runtime: asRuntime,
    options,
    // A user pauses through the registry, whose own suite has that.
    capabilities: { ...found.capabilities, pause: false },
    isGvisor: found.version.includes('gVisor'),
    open: (spec = {}) => asRuntime.open(spec),
    mark() {
      const before = new Set(chats);
      return async () => {
        for (const chat of chats) if (!before.has(chat)) await (await mine()).remove(chat);
      };
    },
    close: async () => place[Symbol.asyncDispose](),
  };
}
