/** A command that works on sandboxes that stay is their host while it does. */
import { isGeodeError } from '../core/errors.ts';
import type { PersistentSandbox, PersistentSpec, Sandboxes, UserSandboxes } from '../core/persistent.ts';
import { type ChatName, chatOptions, findChat, notFound } from './chat-name.ts';
import { type CliContext, type CliOption, exitCodes, text } from './command.ts';
import { showPull } from './show-pull.ts';
import { showStatus } from './show-status.ts';
import { somePositionals, wrongUsage } from './values.ts';

export const hostingOptions = {
  ...chatOptions,
  'take-over': {
    type: 'boolean',
    description: 'end the process that holds the sandboxes; what runs in them goes on',
  },
  wait: {
    type: 'string',
    value: 'SECONDS',
    description: 'how long to wait for another command to finish (default 5)',
  },
} as const satisfies Record<string, CliOption>;

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
  const { signal, json, values } = context;
  const pull = showPull();
  const sandboxes = await (await context.app()).sandboxes({
    brief: true,
    waitMs,
    takeOver: values['take-over'] === true,
    signal,
    onPull: (event) => (json ? undefined : pull.show(event)),
  });
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
    [Symbol.asyncDispose]: () => sandboxes[Symbol.asyncDispose](),
  };
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

function waitFrom({ values }: CliContext): number {
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
