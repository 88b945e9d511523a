import { localUser } from '../base/identity.ts';
import type { GeodeClient, RemoteSandbox } from '../client/client.ts';
import { createClient } from '../client/client.ts';
import type { CliContext } from './command.ts';
import { hostTransport } from './connect/host-transport.ts';
import { among, type ChatName, chatNamed, orNotFound } from './input/chat-name.ts';

export interface ChatClient {
  readonly name: ChatName;
  readonly client: GeodeClient;
  /** Errors about a missing sandbox name it as the user typed it. */
  ask<T>(work: (sandbox: RemoteSandbox) => Promise<T>): Promise<T>;
}

/** The sandbox that a word of the command line names, through the host's API. */
export async function chatClient(word: string, context: CliContext): Promise<ChatClient> {
  const base = createClient(hostTransport(context));
  const named = chatNamed(word, context);
  const client = named.user === localUser ? base : base.as(named.user);
  const isId = /^[0-9a-f]{20}$|^room-/.test(word);
  const known = isId ? await client.sandboxes.list({ signal: context.signal }) : [];
  const name = isId ? among(known, word, named) : named;
  return {
    name,
    client,
    ask: (work) =>
      orNotFound(
        name,
        () => client.sandboxes.list({ signal: context.signal }),
        () => work(client.sandboxes.of(name.chat)),
      ),
  };
}
