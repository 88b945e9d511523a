import { bytesOf, wireBytes } from '../../contract/encoding.ts';
import type { runs } from '../../contract/runs.ts';
import type { EventOf, InputOf } from '../../contract/types.ts';
import type { RunHistory } from '../../runs/history/run-record.ts';
import type { Runs } from '../../runs/index.ts';
import type { RunOptions } from '../../runs/options.ts';
import type { RunEvent } from '../../seams/run.ts';
import type { RunResult } from '../../seams/run-result.ts';
import type { Call } from '../call.ts';
import { checkNetwork, runEgress } from '../egress-reach.ts';
import type { ApiParts } from '../environment.ts';
import { checkReach } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';
import { withBase64 } from './with-base64.ts';

export function runHandlers(
  runner: Runs | undefined,
  history: RunHistory | undefined,
  egress: ApiParts['egress'],
): Handlers<typeof runs> {
  return {
    run:
      runner &&
      (async (asked, call) => {
        const { code, language, options, outputLimitBytes } = runOf(call, asked, egress);
        if (call.wantsEvents) return eventsOf(runner.stream(code, language, options));
        const limit = outputLimitBytes === undefined ? {} : { outputLimitBytes };
        return shown(await runner.run(code, language, { ...options, ...limit }));
      }),
    list: history && ((which, { caller }) => history.list(caller.user, which)),
    get: history && (({ id }, { caller }) => history.get(caller.user, id)),
  };
}

type Asked = InputOf<typeof runs.run>;

export function runOf(
  call: Call,
  { code, language, outputLimitBytes, stdin, files, egress: asked, network, ...rest }: Asked,
  host: ApiParts['egress'],
) {
  checkReach(call, { ...rest, runtime: rest.runtime, limits: rest.limits });
  checkNetwork(network, asked);
  const egress = network === undefined ? runEgress(call, host, asked) : null;
  const { reach } = call;
  const options: RunOptions = {
    ...rest,
    ...(egress !== undefined && { egress }),
    ...(reach && { most: reach.limits }),
    ...(stdin !== undefined && { stdin: bytesOf(stdin) }),
    ...(files !== undefined && {
      files: Object.fromEntries(Object.entries(files).map(([path, content]) => [path, bytesOf(content)])),
    }),
    user: call.caller.user,
    signal: call.signal,
  };
  return { code, language, options, outputLimitBytes };
}

async function* eventsOf(events: AsyncIterable<RunEvent>) {
  for await (const event of events) yield shownEvent(event);
}

export function shownEvent(event: RunEvent): EventOf<typeof runs.run> {
  if (!('bytes' in event)) return event;
  const { bytes, ...rest } = event;
  return { ...rest, ...wireBytes(bytes) };
}

function shown({ compile, artifacts, ...result }: RunResult) {
  const { bytes: _, ...compiled } = compile ?? {};
  return {
    ...withBase64(result),
    compile: compile === null ? null : { ...compile, ...compiled },
    artifacts: artifacts.map(({ path, bytes }) => ({ path, ...wireBytes(bytes) })),
  };
}
