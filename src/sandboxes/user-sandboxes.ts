import { isDeepStrictEqual } from 'node:util';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { reachesNothing } from '../seams/egress.ts';
import type { SandboxStatus, UserSandboxes } from '../seams/persistent.ts';
import { checkpointFolder, removeCheckpoint } from './checkpoints/take-checkpoint.ts';
import { checkpointOf, forkLive } from './checkpoints/user-checkpoints.ts';
import { checkAgreement, checkLabels, checkName, checkPersistentSpec, ownerText } from './owner.ts';
import type { Registry } from './registry.ts';
import type { SandboxRow, SandboxTable } from './sandbox-table.ts';
import { forkWorkspace } from './snapshots/fork-workspace.ts';
import { withSnapshot } from './snapshots/with-snapshot.ts';

/** The registry for one user: the user is part of every call and cannot be left out or changed. */
export function userSandboxes(registry: Registry, name: string): UserSandboxes {
  const user = checkName(name, 'user');
  const inTurn = <T>(chat: string, cancel: Cancel, work: () => Promise<T>) =>
    registry.inTurn(user, chat, cancel, work);

  /** Changes the ledger, but not the sandbox. */
  const note = (chat: string, write: (table: SandboxTable, id: string) => void): Promise<SandboxStatus> =>
    inTurn(chat, {}, async () => {
      write(registry.table, (await registry.get(user, chat)).id);
      return registry.inspect(user, chat);
    });

  /** The sandbox's own record stores its owner and name, so that a lost ledger loses neither. */
  const sign = (entry: SandboxRow, { chat, labels }: Pick<SandboxRow, 'chat' | 'labels'>) =>
    registry.runtimeOf(entry).assign(entry.id, ownerText({ user, chat, spec: { ...entry.spec, labels } }));

  return {
    user,

    async getOrCreate(chat, asked = {}, cancel = {}) {
      const given = checkPersistentSpec(asked);
      const spec = given.egress ? { ...given, egress: registry.egress.bounded(given.egress) } : given;
      return inTurn(chat, cancel, async () => {
        const entry = await registry.find(user, chat);
        if (entry === undefined) return registry.create(user, chat, spec, cancel);
        checkAgreement(spec, entry);
        if (
          spec.egress !== undefined &&
          !isDeepStrictEqual(spec.egress, registry.egress.remembered(entry.id))
        )
          throw otherEgress();
        return registry.open(entry, cancel);
      });
    },

    start: (chat, cancel = {}) =>
      inTurn(chat, cancel, async () => registry.open(await registry.get(user, chat), cancel)),

    stop: (chat, cancel = {}) =>
      inTurn(chat, cancel, async () => registry.halt(await registry.get(user, chat))),

    remove: (chat, cancel = {}) =>
      inTurn(chat, cancel, async () => {
        const entry = await registry.find(user, chat);
        if (entry !== undefined) await registry.discard(entry);
        return entry !== undefined;
      }),

    fork: (chat, to, { snapshot, live = false, checkpoint, sealed, ...cancel } = {}) =>
      registry.inTurns(user, [chat, to], cancel, async () => {
        const source = await registry.get(user, chat);
        await registry.checkFree(user, to);
        if (live) return forkLive(registry, source, to, { checkpoint, ...cancel });
        const { workspaces } = registry.runtimeOf(source);
        if (workspaces === undefined) throw notHere();
        const freezer = registry.heldOf(source)?.sandbox.freezer;
        if (sealed !== undefined) checkSealable(source);
        const { egress = registry.egress.remembered(source.id), ...changed } = sealed ?? {};
        const spec = { ...source.spec, ...changed, runtime: source.runtime, ...(egress && { egress }) };
        const fill = async (id: string) => {
          await using from = await workspaces.hold(source.id);
          await using into = await workspaces.hold(id);
          const freeze = freezer && (() => freezer.hold());
          await forkWorkspace(from, into, { snapshot, freeze, ...cancel });
        };
        return registry.create(user, to, spec, cancel, { fill });
      }),

    checkpoint: (chat, { name, ...cancel } = {}) =>
      inTurn(chat, cancel, async () => checkpointOf(registry, await registry.get(user, chat), name, cancel)),

    async checkpoints(chat) {
      const entry = registry.look(user, chat);
      return (await checkpointFolder(registry.runtimeOf(entry), entry.id)).list();
    },

    removeCheckpoint: (chat, name) =>
      inTurn(chat, {}, async () => {
        const entry = await registry.get(user, chat);
        return removeCheckpoint(registry.runtimeOf(entry), entry.id, name);
      }),

    hibernate: (chat, cancel = {}) =>
      inTurn(chat, cancel, async () => {
        const { state } = await registry.inspect(user, chat, cancel);
        if (state !== 'hibernated') await registry.hibernate(await registry.get(user, chat), 'asked', cancel);
      }),

    withSnapshot: (chat, work, cancel = {}) => withSnapshot(registry, { user, chat }, work, cancel),

    pause: (chat, cancel = {}) =>
      inTurn(chat, cancel, async () => registry.pause(await registry.get(user, chat), cancel)),

    list: (cancel) => registry.list(user, cancel),
    inspect: (chat, cancel) => registry.inspect(user, chat, cancel),

    async extend(chat, ms) {
      const until = checkTime(Date.now() + checkTime(ms, 'The time to extend by'), 'The protection until');
      return note(chat, (table, id) => table.keepUntil(id, until));
    },

    async thinkingUntil(chat, time) {
      checkTime(time, 'The reservation until');
      await note(chat, (table, id) => table.thinkUntil(id, time));
    },

    label: (chat, labels) =>
      inTurn(chat, {}, async () => {
        const entry = await registry.get(user, chat);
        await sign(entry, { chat, labels: checkLabels(labels) });
        registry.table.label(entry.id, labels);
        return registry.inspect(user, chat);
      }),

    rename: (chat, to) =>
      registry.inTurns(user, [chat, to], {}, async () => {
        const entry = await registry.get(user, chat);
        await registry.checkFree(user, to);
        await sign(entry, { chat: to, labels: entry.labels });
        registry.rename(entry, to);
        return registry.inspect(user, to);
      }),

    async egress(chat) {
      return registry.egress.remembered(registry.look(user, chat).id);
    },
    changeEgress: (chat, change, cancel = {}) =>
      inTurn(chat, cancel, async () => {
        const entry = await registry.get(user, chat);
        const before = registry.egress.remembered(entry.id);
        const spec = change(before ?? registry.egress.bounded(reachesNothing));
        await registry.setEgress(entry, spec, cancel);
        return spec;
      }),

    async journals(chat) {
      const entry = registry.look(user, chat);
      return registry.heldOf(entry)?.sandbox.journals ?? registry.runtimeOf(entry).journals(entry.id);
    },
  };
}

function otherEgress(): GeodeError {
  return new GeodeError('sandbox_exists', 'The sandbox of this chat has another network policy.', {
    hint: 'Change its policy with geode egress allow and deny, or leave out --allow and --bind.',
  });
}

/** Sealed means that nothing in the copy can change anything outside of it. */
function checkSealable({ runtime, spec: { network = 'none', mounts = [] } }: SandboxRow): void {
  const open =
    runtime === 'native'
      ? 'runs without walls'
      : network === 'none'
        ? mounts.some(({ writable }) => writable) && 'has a writable mount'
        : `has the network "${network}"`;
  if (open === false) return;
  throw new GeodeError('cannot_enforce', `The sandbox ${open}, so a copy of it would not be sealed.`, {
    hint: 'Use a sandbox with walls, without a network of its own and without writable mounts.',
  });
}

function notHere(): GeodeError {
  return new GeodeError('cannot_enforce', 'A sandbox whose files are not on this host cannot be forked.');
}

/** The end of the year 9999: a later time is surely a mistake, and some parts cannot store it. */
const latestTime = 253_402_300_799_999;

function checkTime(ms: number, what: string): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= latestTime) return ms;
  throw new GeodeError(
    'invalid_input',
    `${what} is ${ms}, but must be a whole number of ms from 0 to ${latestTime}.`,
  );
}
