/**
 * Requests for a WebSocket. Each passes through the same app as any other request, so Host, Origin, key, scope and
 * rate are checked in one place. A matching route takes over the connection; anything else gets a plain HTTP answer.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { WebSocketServer } from 'ws';
import { GeodeError } from '../base/errors.ts';
import { socketProtocol } from '../contract/frames.ts';
import { SocketConversation } from './conversation.ts';
import type { ApiEnv, TakeOver, Upgrade } from './environment.ts';
import { errorOf, problemFor } from './problems.ts';

/** A run may send its files in one message. */
const largestMessageBytes = 64 * 1024 ** 2;

type Bindings = HttpBindings & Required<Pick<ApiEnv['Bindings'], 'upgrade' | 'takeOver'>>;
type Fetch = (request: Request, env: Bindings) => Response | Promise<Response>;

interface Upgrades {
  /** Ends all conversations; the app refuses new ones. */
  stop(): Promise<void>;
}

export function serveUpgrades(server: Server, fetch: Fetch, refuseMalformed: (thrown: unknown) => Response) {
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: largestMessageBytes,
    handleProtocols: (offered) => (offered.has(socketProtocol) ? socketProtocol : false),
  });
  const open = new Map<SocketConversation, Promise<void>>();
  const taken = new Set<Duplex>();

  const answer = async (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    const left = new AbortController();
    const leave = () => left.abort();
    socket.on('error', leave).on('close', leave);
    const outgoing = new ServerResponse(incoming);
    let lead: Parameters<Upgrade['accept']>[0] | undefined;
    const upgrade: Upgrade = {
      accept(given) {
        lead = given;
      },
    };
    let taker: Parameters<TakeOver>[0] | undefined;
    const takeOver: TakeOver = (given) => {
      taker = given;
    };
    let response: Response;
    try {
      response = await fetch(requestOf(incoming, left.signal), { incoming, outgoing, upgrade, takeOver });
    } catch (thrown) {
      response = refuseMalformed(thrown);
    }
    if (taker !== undefined) {
      outgoing.destroy();
      taken.add(socket);
      socket.once('close', () => taken.delete(socket));
      return await taker(socket, head);
    }
    if (socket.destroyed) return;
    if (lead === undefined) return refuse(outgoing, response, socket);
    const talk = lead;
    sockets.handleUpgrade(incoming, socket, head, (webSocket) => {
      const conversation = new SocketConversation(webSocket);
      const talking = talk(conversation).finally(() => open.delete(conversation));
      open.set(conversation, talking);
    });
  };
  server.on('upgrade', (incoming, socket, head) => void answer(incoming, socket, head));

  return {
    async stop() {
      await Promise.all(
        [...open].map(([conversation]) => conversation.close(1012, 'The server is stopping')),
      );
      await Promise.all(open.values());
      for (const socket of taken) socket.destroy();
    },
  } satisfies Upgrades;
}

function requestOf({ method, url = '/', headers }: IncomingMessage, signal: AbortSignal): Request {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value].flat().join(', ')] as [string, string]],
  );
  return new Request(new URL(url, `http://${headers.host ?? ''}`), {
    method: method ?? 'GET',
    headers: given,
    signal,
  });
}

async function refuse(outgoing: ServerResponse, response: Response, socket: Duplex): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('');
  outgoing.destroy();
  socket.end(
    Buffer.concat([
      Buffer.from(
        `HTTP/1.1 ${response.status} ${response.statusText || 'Refused'}\r\n${headers}connection: close\r\ncontent-length: ${body.length}\r\n\r\n`,
      ),
      body,
    ]),
  );
}

/** The handler of a WebSocket route: it runs the conversation, or refuses a plain request. */
export function leadConversation(
  context: Context<ApiEnv>,
  lead: (conversation: SocketConversation) => Promise<void>,
): Response {
  const { upgrade } = context.env;
  if (upgrade === undefined) {
    context.header('Upgrade', 'websocket');
    throw new GeodeError('upgrade_required', 'This path needs a WebSocket');
  }
  // The conversation outlives the request and keeps the caller's rights.
  const asCaller = AsyncLocalStorage.snapshot();
  upgrade.accept(async (conversation) => {
    try {
      await asCaller(lead, conversation);
      await conversation.close(1000, '');
    } catch (thrown) {
      const error = errorOf(thrown, context);
      context.var.log[error.status >= 500 ? 'error' : 'info']({ err: error }, 'conversation ended');
      await conversation.send({ type: 'problem', ...problemFor(context, error) });
      await conversation.close(1011, error.code);
    }
  });
  return context.body(null, 200);
}
