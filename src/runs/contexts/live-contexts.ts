/** The contexts that callers opened, each for its own user. Idle ones are closed. */
import { randomBytes } from 'node:crypto';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import type { User } from '../../base/identity.ts';
import { type EventSink, noEvents } from '../../seams/events.ts';
import type { Sandboxes } from '../../seams/persistent.ts';
import type { ContextLanguage, PullEvent } from '../../seams/run.ts';
import type { RuntimeName } from '../../seams/runtime.ts';
import type { Grade, Sandbox, SandboxSpec, Workspace } from '../../seams/sandbox.ts';
import { type ContextCell, ContextCells } from './cells.ts';
import { type Context, type ContextOptions, type ContextRunOptions, openContext } from './context.ts';
import type { ContextResult } from './result.ts';

/** Opens a fresh sandbox with the config's limits, for one command or a context; the caller disposes of it. */
export type OpenFresh = (
  spec: SandboxSpec,
  options: { readonly runtime?: RuntimeName; readonly onPull?: (event: PullEvent) => void } & Cancel,
) => Promise<Sandbox>;

interface NewContext extends Omit<ContextOptions, 'signal'> {
  readonly language: ContextLanguage;
  /** In the sandbox of this chat, otherwise in a fresh one that ends with the context. */
  readonly chat?: string;
  readonly runtime?: RuntimeName;
  readonly spec?: SandboxSpec;
}

interface ContextFacts {
  readonly id: string;
  readonly language: ContextLanguage;
  readonly sandbox: string;
  readonly chat: string | null;
  readonly runtime: string;
  readonly grade: Grade;
  readonly createdAt: number;
}

export interface LiveContexts extends AsyncDisposable {
  open(user: User, wanted: NewContext, cancel: Cancel): Promise<ContextFacts>;
  list(user: User): readonly ContextFacts[];
  /** Uses a context and keeps it open during the work. Throws `context_not_found`, also for contexts of other users. */
  use<T>(user: User, id: string, work: (context: Context) => Promise<T>): Promise<T>;
  /** Runs code and stores its output in a cell. */
  run(user: User, id: string, code: string, options: ContextRunOptions): Promise<ContextResult>;
  /** The runs since it was opened, oldest first; above a limit the oldest are dropped. */
  cells(user: User, id: string): readonly ContextCell[];
  close(user: User, id: string): Promise<void>;
}

interface Live extends AsyncDisposable {
  readonly user: User;
  readonly facts: ContextFacts;
  readonly context: Context;
  readonly cells: ContextCells;
  /** Its sandbox has ended, and its variables with it. */
  readonly isOver: () => boolean;
  using: number;
  usedAt: number;
}

const defaultIdleMs = 30 * 60_000;
const mostPerUser = 32;

export interface ContextPlaces {
  readonly open: OpenFresh;
  /** Missing on a host without persistent sandboxes. */
  readonly sandboxes?: Sandboxes;
  readonly events?: EventSink;
  /** The image of a language, for a fresh sandbox without an image setting. */
  readonly imageFor?: (
    language: ContextLanguage,
    options: { readonly runtime?: RuntimeName } & Cancel,
  ) => Promise<string | undefined>;
}

export function openLiveContexts(
  { sandboxes, open, events = noEvents, imageFor = async () => undefined }: ContextPlaces,
  { idleMs = defaultIdleMs }: { readonly idleMs?: number } = {},
): LiveContexts {
  const live = new Map<string, Live>();
  const end = async (id: string) => {
    const found = live.get(id);
    live.delete(id);
    await found?.[Symbol.asyncDispose]();
  };
  const tend = () => {
    const isIdle = (one: Live) => one.using === 0 && Date.now() - one.usedAt > idleMs;
    const idle = [...live].filter(([, one]) => isIdle(one) || one.isOver());
    // A context that cannot be closed has ended with its sandbox.
    for (const [id] of idle) void end(id).catch(() => {});
  };
  const timer = setInterval(tend, Math.min(idleMs, 60_000)).unref();
  const find = (user: User, id: string): Live => {
    const found = live.get(id);
    if (found?.user === user) return found;
    throw new GeodeError('context_not_found', `There is no context ${id}`);
  };

  const use = async <T>(found: Live, work: () => Promise<T>): Promise<T> => {
    found.using += 1;
    try {
      return await work();
    } finally {
      found.using -= 1;
      found.usedAt = Date.now();
    }
  };

  return {
    async open(user, { language, chat, runtime, spec = {}, ...options }, cancel) {
      tend();
      if ([...live.values()].filter((one) => one.user === user).length >= mostPerUser)
        throw new GeodeError('queue_full', `This user already has ${mostPerUser} contexts`, {
          hint: 'Close one that you do not need.',
        });
      await using held = new AsyncDisposableStack();
      const on = { ...(runtime !== undefined && { runtime }), ...cancel };
      const fresh = async () => {
        const image = spec.image ?? (await imageFor(language, on));
        const onPull = () => {};
        return held.use(await open({ ...spec, ...(image !== undefined && { image }) }, { ...on, onPull }));
      };
      const place: Workspace & Pick<Sandbox, 'runtime' | 'grade' | 'end'> =
        chat === undefined || sandboxes === undefined
          ? await fresh()
          : await sandboxes.of(user).start(chat, cancel);
      const context = held.use(await openContext(place, language, { ...options, ...cancel }));
      const opened = held.move();
      const id = randomBytes(12).toString('hex');
      const now = Date.now();
      const facts = {
        id,
        language,
        sandbox: place.id,
        chat: chat ?? null,
        runtime: place.runtime,
        grade: place.grade,
        createdAt: now,
      };
      live.set(id, {
        user,
        facts,
        context,
        cells: new ContextCells(),
        isOver: () => place.end !== undefined,
        using: 0,
        usedAt: now,
        [Symbol.asyncDispose]: () => opened.disposeAsync(),
      });
      return facts;
    },
    list(user) {
      tend();
      return [...live.values()].filter((one) => one.user === user).map(({ facts }) => facts);
    },
    async use(user, id, work) {
      const found = find(user, id);
      return use(found, () => work(found.context));
    },
    async run(user, id, code, { onEvent, ...options }) {
      const found = find(user, id);
      const cell = found.cells.begin(code);
      let status: ContextCell['status'] = 'refused';
      let durationMs = 0;
      try {
        const result = await use(found, () =>
          found.context.run(code, {
            ...options,
            onEvent(event) {
              cell.add(event);
              onEvent?.(event);
            },
          }),
        );
        ({ status, durationMs } = result);
        return result;
      } finally {
        cell.end(status, durationMs);
        events.emit(user, { type: 'cell-end', context: id, status });
      }
    },
    cells: (user, id) => find(user, id).cells.all,
    async close(user, id) {
      find(user, id);
      await end(id);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await Promise.all([...live.keys()].map((id) => end(id).catch(() => {})));
    },
  };
}
