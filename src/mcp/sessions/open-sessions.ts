/** The tool sessions of a host, as in `seams/tools.ts`: in the ledger, and live in the sandboxes it holds. */
import { randomBytes } from 'node:crypto';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';
import { KeyedTurns } from '../../base/keyed-turns.ts';
import type { Log } from '../../base/log.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { EventSink } from '../../seams/events.ts';
import type {
  ServedToolSession,
  ToolOwner,
  ToolSandbox,
  ToolSession,
  ToolSessionOptions,
  ToolSessions,
} from '../../seams/tools.ts';
import { separator, serverOf } from '../servers/allowed.ts';
import type { ExternalServers } from '../servers/open-servers.ts';
import { CallLog } from './call-log.ts';
import { connectFromHost } from './host-connection.ts';
import { type LiveOptions, LiveSession } from './live-session.ts';
import type { SessionTool } from './session-call.ts';
import { CallAudit, type CallLimits, SessionTable } from './tables.ts';

export interface ToolSessionsOptions extends Omit<LiveOptions, 'audit' | 'events' | 'tools'> {
  /** Geode's own tools. */
  readonly tools: readonly SessionTool[];
  readonly servers: ExternalServers;
  /** With `toolChapter`. */
  readonly ledger: Ledger;
  /** The tools of a session without its own list. */
  readonly initial: readonly string[];
  readonly auditLimits: CallLimits;
  readonly events: LiveOptions['events'] & EventSink;
  readonly log: Log;
}

const callsShown = 100;

export function openToolSessions(options: ToolSessionsOptions): ToolSessions {
  const { ledger, tools, servers, initial, events, log } = options;
  const table = new SessionTable(ledger);
  const audit = new CallAudit(ledger, options.auditLimits);
  const callLog = new CallLog({ audit, events, log });
  const sessions = new Map(table.all().map((session) => [session.sandboxId, session]));
  const live = new Map<string, LiveSession>();
  const turns = new KeyedTurns();
  const available = () => [
    ...tools.map(({ name }) => name),
    ...servers
      .status()
      .flatMap(({ name, tools: offered }) =>
        (offered.length === 0 ? ['*'] : offered).map((tool) => `${name}${separator}${tool}`),
      ),
  ];
  servers.onChange((name) => {
    for (const session of live.values()) session.changeServer(name);
  });
  const liveOptions: LiveOptions = {
    ...options,
    tools: () => [...tools, ...servers.tools()],
    audit: (record) => callLog.add(record),
  };

  const checked = (names: readonly string[], user: string): readonly string[] => {
    const usable = servers.namesFor(user);
    const isKnown = (name: string) =>
      tools.some((tool) => tool.name === name) || usable.some((server) => server === serverOf(name));
    const unknown = names.find((name) => !isKnown(name));
    if (unknown === undefined) return [...new Set(names)];
    throw new GeodeError('invalid_input', `There is no tool ${JSON.stringify(unknown.slice(0, 100))}.`, {
      hint: `Available: ${available().join(', ')}.`,
    });
  };
  const find = (user: string, chat: string) =>
    [...sessions.values()].find((session) => session.user === user && session.chat === chat);

  /** In the sandbox's turn. A restarted sandbox has another socket. */
  const serve = async (session: ToolSession, sandbox: ToolSandbox, cancel: Cancel) => {
    const door = sandbox.tools;
    if (door === undefined) throw new GeodeError('cannot_enforce', 'This sandbox has no access to tools.');
    const place = await door.open(cancel);
    // Programs inside see a server's tools when they connect; a hanging server must not delay the others.
    await servers.ready(session.tools);
    const before = live.get(session.sandboxId);
    if (before?.door === door) {
      before.change(session);
      return before;
    }
    before?.[Symbol.dispose]();
    const served = new LiveSession(session, sandbox, door, place, liveOptions);
    live.set(session.sandboxId, served);
    return served;
  };
  const end = (sandboxId: string) => {
    const ended = live.get(sandboxId);
    ended?.[Symbol.dispose]();
    live.delete(sandboxId);
    return ended;
  };
  const forget = (sandboxId: string) => {
    end(sandboxId);
    if (!sessions.delete(sandboxId)) return;
    table.remove(sandboxId);
  };

  const openIn = async (
    sandbox: ToolSandbox & ToolOwner,
    { tools: asked, ...cancel }: ToolSessionOptions,
  ): Promise<ServedToolSession> => {
    const { id: sandboxId, user, chat } = sandbox;
    const before = sessions.get(sandboxId);
    const names = asked === undefined ? (before?.tools ?? checked(initial, user)) : checked(asked, user);
    const made = { id: randomBytes(9).toString('base64url'), createdAt: Date.now(), sandboxId, user };
    const session = { ...(before ?? made), chat, tools: names };
    const served = await serve(session, sandbox, cancel);
    table.set(session);
    sessions.set(sandboxId, session);
    if (before === undefined)
      events.emit(user, { type: 'tools-open', tools: names, sandbox: sandboxId, chat });
    const { place } = served;
    return { ...session, place, server: { command: place.guest, args: ['mcp', place.socket] } };
  };

  const closeIn = async (sandboxId: string, cancel: Cancel): Promise<boolean> => {
    const session = sessions.get(sandboxId);
    if (session === undefined) return false;
    const door = end(sandboxId)?.door;
    forget(sandboxId);
    // An ended sandbox has no socket any more.
    await door?.close(cancel).catch(() => {});
    events.emit(session.user, { type: 'tools-close', sandbox: sandboxId, chat: session.chat });
    return true;
  };
  const inTurn = <T>(sandboxId: string, work: () => Promise<T>) => turns.in([sandboxId], work);
  const ofUser = (user: string) => [...sessions.values()].filter((session) => session.user === user);

  return {
    get available() {
      return available();
    },
    servers: () => servers.status(),
    async connect(sandbox, cancel = {}) {
      await inTurn(sandbox.id, () => openIn(sandbox, cancel));
      const session = live.get(sandbox.id);
      if (session === undefined)
        throw new GeodeError('tool_session_not_found', 'The tool session has just ended.');
      return await connectFromHost(session.connect(), options.version, cancel);
    },
    initial,
    attach: (sandbox, owner, cancel = {}) =>
      inTurn(sandbox.id, async () => {
        const session = sessions.get(sandbox.id);
        if (session !== undefined) await serve({ ...session, ...owned(owner) }, sandbox, cancel);
      }),
    env: (sandboxId) => live.get(sandboxId)?.env ?? {},
    rename(sandboxId, chat) {
      const session = sessions.get(sandboxId);
      if (session === undefined) return;
      const renamed = { ...session, chat };
      table.set(renamed);
      sessions.set(sandboxId, renamed);
      live.get(sandboxId)?.change(renamed);
    },
    forget,
    open: (sandbox, asked = {}) => inTurn(sandbox.id, () => openIn(sandbox, asked)),
    replace: (sandbox, asked = {}) =>
      inTurn(sandbox.id, async () => {
        await closeIn(sandbox.id, asked);
        return openIn(sandbox, asked);
      }),
    get: find,
    list: ofUser,
    async close(user, chat, cancel = {}) {
      const session = find(user, chat);
      return session !== undefined && inTurn(session.sandboxId, () => closeIn(session.sandboxId, cancel));
    },
    async closeAll(user, cancel = {}) {
      const all = user === undefined ? [...sessions.values()] : ofUser(user);
      const closed = all.map(({ sandboxId }) => inTurn(sandboxId, () => closeIn(sandboxId, cancel)));
      return (await Promise.all(closed)).filter(Boolean).length;
    },
    calls: (user, { chat, limit = callsShown } = {}) => audit.search(user, chat, limit),
    async [Symbol.asyncDispose]() {
      for (const sandboxId of [...live.keys()]) end(sandboxId);
      await callLog[Symbol.asyncDispose]();
    },
  };
}

function owned({ user, chat }: ToolOwner): ToolOwner {
  return { user, chat };
}
