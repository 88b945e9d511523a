/** How commands come to the sandboxes that stay: as clients of their host. */
import { existsSync } from 'node:fs';
import { GeodeError } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import { createClient, type GeodeClient } from '../client/client.ts';
import type { RemoteSandbox } from '../client/sandbox.ts';
import type { RemoteSandboxes } from '../client/sandboxes.ts';
import type { AloneOptions } from '../host/runs-alone.ts';
import { type CliContext, type CliOption, exitCodes, text } from './command.ts';
import { HostTransport } from './connect/host-transport.ts';
import { reachSettings } from './connect/reach-settings.ts';
import { type ChatName, chatOptions, findChat, noSuchSandbox, orNotFound } from './input/chat-name.ts';
import { somePositionals, wrongUsage } from './input/values.ts';
import type { showStatus } from './render/show-status.ts';
import { version } from './version.ts';

export const lockOptions = {
  'take-over': {
    type: 'boolean',
    description: 'stop the running host first; sandboxes keep running',
  },
  wait: {
    type: 'string',
    value: 'SECONDS',
    description: 'how long to wait for another host to exit (default 5)',
  },
} as const satisfies Record<string, CliOption>;

export const hostingOptions = { ...chatOptions, ...lockOptions } as const;

/** Access to the sandboxes of the host. Disposing of it ends no process in a sandbox. */
export interface Hosting extends AsyncDisposable {
  readonly client: GeodeClient;
  /** A sandbox by name or id. A missing one is reported at the first operation. */
  chat(word: string): Promise<HostedChat>;
}

/** The sandbox of one chat, for a command. Errors about a missing sandbox name it as the user typed it. */
export interface HostedChat {
  readonly name: ChatName;
  ask<T>(work: (own: RemoteSandboxes, chat: string) => Promise<T>): Promise<T>;
  /** Work in the sandbox itself, which starts it where that is needed. */
  /** The error for this name, with the nearest one that exists. */
  missing(): Promise<GeodeError>;
  within<T>(work: (sandbox: RemoteSandbox) => Promise<T>): Promise<T>;
}

export interface HostingNeeds {
  /** It changes nothing: where there are no sandboxes yet, it makes no folder and starts no host. */
  readonly reads?: boolean;
}

/** Starts the host at the first request if none is running. */
export async function connectHost(
  context: CliContext,
  { reads = false }: HostingNeeds = {},
): Promise<Hosting> {
  const { stateDir } = await reachSettings(context);
  if (reads && !existsSync(stateDir)) throw noSandboxes();
  const waitMs = waitFrom(context);
  const takeOver = context.values['take-over'] === true;
  const transport = new HostTransport(context, {
    waitMs,
    takeOver,
    alone: async () => {
      const { hostAlone } = await import('../host/host-alone.ts');
      return hostAlone(await aloneOptions(context), { waitMs, takeOver, signal: context.signal });
    },
  });
  const client = createClient(transport);
  return {
    client,
    async chat(word) {
      const { signal } = context;
      const name = await findChat(word, context, () => client.sandboxes.list({ users: 'all', signal }));
      const own = (name.user === localUser ? client : client.as(name.user)).sandboxes;
      return {
        name,
        missing: async () => noSuchSandbox(name, await own.list({ signal })),
        ask: (work) =>
          orNotFound(
            name,
            () => own.list({ signal }),
            () => work(own, name.chat),
          ),
        within: (work) =>
          orNotFound(
            name,
            () => own.list({ signal }),
            () => work(own.of(name.chat)),
          ),
      };
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

/** For code that runs once. Where no host can be had, the command runs it in this process. */
export function connectRuns(context: CliContext): { readonly client: GeodeClient } & AsyncDisposable {
  const transport = new HostTransport(context, {
    waitMs: 0,
    isOptional: true,
    alone: async () => {
      const { runsAlone } = await import('../host/runs-alone.ts');
      return runsAlone(await aloneOptions(context));
    },
  });
  return {
    client: createClient(transport),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

async function aloneOptions({ loaded, machine, err }: CliContext): Promise<AloneOptions> {
  return { loaded: await loaded(), machine, version, warn: (message) => err(`warning: ${message}`) };
}

function noSandboxes(): GeodeError {
  return new GeodeError('sandbox_not_found', 'There are no sandboxes yet.', {
    hint: 'Create one: geode sandbox create NAME',
  });
}

/** Does the same to every sandbox that the command line names, and shows how each is then. */
export async function toEach(
  context: CliContext,
  work: (own: RemoteSandboxes, chat: string) => Promise<Parameters<typeof showStatus>[0]>,
): Promise<number> {
  const words = somePositionals(context, '[USER/]CHAT');
  const { showStatus } = await import('./render/show-status.ts');
  await using host = await connectHost(context);
  for (const word of words) showStatus(await (await host.chat(word)).ask(work), context);
  return exitCodes.done;
}

export function waitFrom({ values }: Pick<CliContext, 'values'>): number {
  const given = text(values, 'wait') ?? '5';
  if (/^\d{1,6}(\.\d+)?$/.test(given)) return Number(given) * 1000;
  throw wrongUsage(`--wait ${given} is not a number of seconds`);
}
