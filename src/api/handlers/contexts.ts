import type { contexts } from '../../contract/contexts.ts';
import type { AnswerOf } from '../../contract/types.ts';
import type { LiveContexts } from '../../runs/contexts/live-contexts.ts';
import type { ContextEvent, ContextResult } from '../../runs/contexts/result.ts';
import type { Rich } from '../../runs/contexts/rich.ts';
import { checkReach } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';
import { withEvents } from '../with-events.ts';

export function contextHandlers(live: LiveContexts): Handlers<typeof contexts> {
  return {
    open({ image, limits, minimumGrade, ...wanted }, call) {
      if (wanted.chat !== undefined) call.require('sandboxes:write');
      checkReach(call, { runtime: wanted.runtime, limits });
      const spec = {
        ...(image !== undefined && { image }),
        ...(limits !== undefined && { limits }),
        ...(minimumGrade !== undefined && { minimumGrade }),
      };
      return live.open(call.caller.user, { ...wanted, spec }, { signal: call.signal });
    },
    list: (_, { caller }) => live.list(caller.user),
    async run({ id, code, ...options }, { caller: { user }, signal, wantsEvents }) {
      const start = (onEvent?: (event: ContextEvent) => void) =>
        live.run(user, id, code, { ...options, ...(onEvent !== undefined && { onEvent }), signal });
      if (!wantsEvents) return shownResult(await start());
      await live.use(user, id, async () => {});
      return eventsOf(start);
    },
    cells: ({ id }, { caller }) =>
      live.cells(caller.user, id).map(({ pieces, ...cell }) => ({ ...cell, pieces: pieces.map(shown) })),
    restart: ({ id }, { caller, signal }) => live.use(caller.user, id, (own) => own.restart({ signal })),
    interrupt: ({ id }, { caller }) => live.use(caller.user, id, (own) => own.interrupt()),
    check: ({ id, code }, { caller, signal }) =>
      live.use(caller.user, id, (own) => own.check(code, { signal })),
    close: ({ id }, { caller }) => live.close(caller.user, id),
  };
}

/** Events as they happen, then the result. */
async function* eventsOf(start: (onEvent: (event: ContextEvent) => void) => Promise<ContextResult>) {
  const stream = withEvents(start);
  let step = await stream.next();
  for (; !step.done; step = await stream.next()) yield shown(step.value);
  yield { type: 'end' as const, ...shownResult(step.value) };
}

type Piece = AnswerOf<typeof contexts.cells>[number]['pieces'][number];

function shown(event: ContextEvent): Piece {
  return event.type === 'result' ? { type: 'result', result: shownRich(event.result) } : event;
}

function shownResult({ results, value, ...result }: ContextResult) {
  return { ...result, results: results.map(shownRich), value: value && shownRich(value) };
}

function shownRich({ png, jpeg, ...rich }: Rich) {
  return {
    ...rich,
    ...(png !== undefined && { png: Buffer.from(png).toString('base64') }),
    ...(jpeg !== undefined && { jpeg: Buffer.from(jpeg).toString('base64') }),
  };
}
