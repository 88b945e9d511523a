/** The sandboxes that stay in the hands of a command: those of the host that runs it, or it is their host itself. */
import { isGeodeError } from '../core/errors.ts';
import type { PersistentSandbox, PersistentSpec, Sandboxes, UserSandboxes } from '../core/persistent.ts';
import { type ChatName, chatOptions, findChat, notFound } from './chat-name.ts';
import { type CliContext, type CliOption, exitCodes, type Hosted, text } from './command.ts';
import { type PullDisplay, showPull } from './show-pull.ts';
import { showStatus } from './show-status.ts';
import { somePositionals, wrongUsage } from './values.ts';

export const lockOptions = {
  'take-over': {
    type: 'boolean',
    description: 'end the process that holds the sandboxes first; what runs in them goes on',
  },
  wait: {
    type: 'string',
    value: 'SECONDS',
    description: 'how long to wait for a process that holds the sandboxes for itself (default 5)',
  },
} as const satisfies Record<string, CliOption>;

export const hostingOptions = { ...chatOptions, ...lockOptions } as const;

/** Letting go of it ends nothing: what runs in the sandboxes goes on. */
export interface Hosting extends AsyncDisposable {
  readonly sandboxes: Sandboxes;
  /** By its name or its id; whether it is there is seen when something is done to it. */
  chat(word: string): Promise<HostedChat>;
}

/** One chat's sandbox in the hands of a command. What is missing is told by its name. */
export interface HostedChat {
  readonly name: ChatName;
  ask<T>(work: (sandboxes: UserSandboxes, chat: string) => Promise<T>): Promise<T>;
  start(): Promise<PersistentSandbox>;
  getOrCreate(spec?: PersistentSpec): Promise<PersistentSandbox>;
}

/** `ledger_held`, with the other's pid, when another process is the host for longer than the wait. */
export async function becomeHost(context: CliContext, waitMs = waitFrom(context)): Promise<Hosting> {
  const { signal } = context;
  const { sandboxes, pull } = context.hosted ?? (await hostAlone(context, waitMs));
  return {
    sandboxes,
    async chat(word) {
      const name = await findChat(word, context, sandboxes);
      const ask: HostedChat['ask'] = (work) =>
        orNotFound(name, () => work(sandboxes.of(name.user), name.chat)).finally(() => pull.end());
      return {
        name,
        ask,
        start: () => ask((own, chat) => own.start(chat, { signal })),
        getOrCreate: (spec = {}) => ask((own, chat) => own.getOrCreate(chat, spec, { signal })),
      };
    },
    async [Symbol.asyncDispose]() {
      // Those of a host are its own to let go of.
      if (context.hosted === undefined) await sandboxes[Symbol.asyncDispose]();
    },
  };
}

/** For the time that the command takes. */
async function hostAlone(context: CliContext, waitMs: number): Promise<Hosted> {
  const pull = pullOf(context);
  const sandboxes = await (await context.app()).sandboxes({
    tends: 'nothing',
    waitMs,
    takeOver: context.values['take-over'] === true,
    signal: context.signal,
    onPull: pull.show,
  });
  return { sandboxes, pull };
}

/** For programs nothing is shown. */
export function pullOf({ json, streams }: Pick<CliContext, 'json' | 'streams'>): PullDisplay {
  return json ? { show: () => {}, end: () => {} } : showPull(streams.stderr);
}

/** Does the same to every sandbox that the command line names, and shows how each is then. */
export async function toEach(
  context: CliContext,
  work: (chat: HostedChat) => Promise<unknown>,
): Promise<number> {
  const words = somePositionals(context, '[USER/]CHAT');
  await using host = await becomeHost(context);
  for (const word of words) {
    const chat = await host.chat(word);
    await work(chat);
    showStatus(await chat.ask((own, name) => own.inspect(name)), context);
  }
  return exitCodes.done;
}

export function waitFrom({ values }: Pick<CliContext, 'values'>): number {
  const given = text(values, 'wait') ?? '5';
  if (/^\d{1,6}(\.\d+)?$/.test(given)) return Number(given) * 1000;
  throw wrongUsage(`--wait ${given} is not a number of seconds`);
}

async function orNotFound<T>(name: ChatName, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isGeodeError(error, 'sandbox_not_found') ? notFound(name) : error;
  }
}
