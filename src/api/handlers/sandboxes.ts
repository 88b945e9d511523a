import type { sandboxes } from '../../contract/sandboxes.ts';
import { watchMetrics } from '../../sandboxes/metrics.ts';
import type { PersistentSandbox, PersistentSpec, Sandboxes } from '../../seams/persistent.ts';
import type { PullEvent } from '../../seams/run.ts';
import { type Call, refuseUnlessOwnSocket } from '../call.ts';
import { newEgress } from '../egress-reach.ts';
import type { ApiParts } from '../environment.ts';
import { pullWatch } from '../pull-watch.ts';
import { checkReach, runningSandbox, startedSandbox } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';
import { withEvents } from '../with-events.ts';

export function sandboxHandlers(
  all: Sandboxes,
  { egress: host, previews }: Pick<ApiParts, 'egress' | 'previews'>,
): Handlers<typeof sandboxes> {
  return {
    create({ chat, egress: asked, ...rest }, call) {
      checkReach(call, { ...rest, runtime: rest.runtime, limits: rest.limits });
      const egress = asked && newEgress(call, host, asked);
      const spec = { ...rest, ...(egress && { egress }) };
      return call.wantsEvents ? creation(call, chat, spec) : made(call, chat, spec);
    },
    list({ users, usage }, call) {
      const options = { usage, signal: call.signal };
      if (users !== 'all') return call.sandboxes.list(options);
      refuseUnlessOwnSocket(call, 'Sandboxes of all users are listed');
      return all.all(options);
    },
    inspect,
    remove: ({ chat }, { sandboxes: own, signal }) => own.remove(chat, { signal }),
    async start({ chat }, call) {
      await startedSandbox(call, chat);
      return inspect({ chat }, call);
    },
    async stop({ chat }, call) {
      await call.sandboxes.stop(chat, { signal: call.signal });
      return inspect({ chat }, call);
    },
    async pause({ chat }, call) {
      await call.sandboxes.pause(chat, { signal: call.signal });
      return inspect({ chat }, call);
    },
    async hibernate({ chat }, call) {
      await call.sandboxes.hibernate(chat, { signal: call.signal });
      return inspect({ chat }, call);
    },
    async resume({ chat }, call) {
      await startedSandbox(call, chat);
      return inspect({ chat }, call);
    },
    extend: ({ chat, ms }, { sandboxes: own }) => own.extend(chat, ms),
    async thinking({ chat, until }, { sandboxes: own }) {
      await own.thinkingUntil(chat, until);
      return own.inspect(chat);
    },
    rename: ({ chat, to }, { sandboxes: own }) => own.rename(chat, to),
    label: ({ chat, labels }, { sandboxes: own }) => own.label(chat, labels),
    async fork({ chat, to, ...options }, { sandboxes: own, signal }) {
      await own.fork(chat, to, { ...options, signal });
      return own.inspect(to, { signal });
    },
    usage: async ({ chat, everyMs }, call) => watched(await runningSandbox(call, chat), everyMs, call.signal),
    preview:
      previews &&
      (async ({ chat, port }, call) =>
        previews.open(await startedSandbox(call, chat), port, { signal: call.signal })),
  };
}

function inspect({ chat }: { readonly chat: string }, { sandboxes: own, signal }: Call) {
  return own.inspect(chat, { signal });
}

async function made(call: Call, chat: string, spec: PersistentSpec) {
  await call.sandboxes.getOrCreate(chat, spec, { signal: call.signal });
  return inspect({ chat }, call);
}

async function* creation(call: Call, chat: string, spec: PersistentSpec) {
  const status = yield* withEvents((emit: (event: PullEvent) => void) =>
    pullWatch.run(emit, () => made(call, chat, spec)),
  );
  yield { type: 'sandbox-ready' as const, ...status };
}

async function* watched(sandbox: PersistentSandbox, everyMs: number, signal: AbortSignal) {
  let done = 0;
  for await (const usage of watchMetrics(sandbox, everyMs, { signal })) {
    done += 1;
    yield { type: 'usage' as const, ...usage };
  }
  yield { type: 'end' as const, done };
}
