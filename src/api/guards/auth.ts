/**
 * Identifies the caller and gives routes only that user's memory and sandboxes. A route cannot name a user, so no
 * mistake in a route shows one user's objects to another.
 */
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { GeodeError } from '../../base/errors.ts';
import { checkUser, localUser } from '../../base/identity.ts';
import { createRateLimiter, type RateLimiter } from '../../base/rate-limit.ts';
import { keyProtocol } from '../../contract/frames.ts';
import { type KeyStore, keysInText, type Scope, scopes } from '../../identity/keys.ts';
import { pullCaller } from '../../runs/pull-rules.ts';
import { chatMemory, chatNamespace } from '../../seams/chat-memory.ts';
import { defaultMostLimits } from '../../seams/limits.ts';
import type { Memory, MemoryStore } from '../../seams/memory.ts';
import { claimConnection } from '../connections.ts';
import type { ApiEnv, ApiOptions, ApiParts, Caller } from '../environment.ts';
import { forPerson } from './person.ts';
import { sessionOf } from './session.ts';

/** Facts of a request that only its door knows. */
interface OfDoors {
  /** A caller without a key, if a door knows one. */
  known(context: Context<ApiEnv>): Caller | undefined;
  person(context: Context<ApiEnv>): string | undefined;
}

export function authenticate(
  { keys, logins, memory, sandboxes, egress, mostLimits = defaultMostLimits }: ApiParts,
  { callers, rate, scopeRates, failureRate }: ApiOptions,
  doors: OfDoors,
) {
  const requests = createRateLimiter(rate);
  const failures = createRateLimiter(failureRate);
  const ofScope = new Map(
    Object.entries(scopeRates).map(([scope, limit]) => [scope, createRateLimiter(limit)]),
  );

  return createMiddleware<ApiEnv>(async (context, next) => {
    const caller = actingFor(
      userIn(context.req),
      forPerson(who(context), doors.person(context)),
      context.req.path,
    );
    if (caller.actsFor !== 'anyone') claimConnection(context.env.incoming.socket, caller.keyId);
    // A key that acts for many people has one allowance for each.
    const spender = `${caller.keyId} ${caller.user}`;
    spend(requests, spender, 'This key sends too many requests');
    context.set('caller', caller);
    context.set('spendScope', (scope) => {
      const limiter = ofScope.get(scope);
      if (limiter) spend(limiter, spender, `This key sends too many requests that need ${scope}`);
    });
    context.set('mostLimits', caller.scopes.includes('admin') ? {} : mostLimits);
    context.set('memory', memoryOf(memory, caller, context));
    context.set('secretValues', () => egress?.secretValues(caller.user) ?? []);
    if (sandboxes !== undefined) context.set('sandboxes', sandboxes.of(caller.user));
    const { user, scopes: granted } = caller;
    await pullCaller.run(granted.includes('admin') ? undefined : { user }, next);
  });

  function who(context: Context<ApiEnv>): Caller {
    if (callers === 'tools') return fromSandbox(context);
    if (callers === 'socket') return { ...everyone, keyId: 'socket', actsFor: 'anyone' };
    if (keys === 'off') return everyone;
    return doors.known(context) ?? ofDashboard(context) ?? identify(keys, context);
  }

  /** The operator of the host may do everything; other users cannot manage keys or settings. */
  function ofDashboard(context: Context<ApiEnv>): Caller | undefined {
    const session = context.req.header('authorization') === undefined ? sessionOf(context, logins) : null;
    if (session === null) return undefined;
    const { id, user } = session;
    const granted = user === localUser ? scopes : scopes.filter((scope) => scope !== 'admin');
    return { user, keyId: `session ${id}`, scopes: granted, actsFor: 'self' };
  }

  function identify(store: KeyStore, { req, env }: Context<ApiEnv>): Caller {
    const plain = req.header('x-api-key');
    const header =
      (plain === undefined ? req.header('authorization') : `Bearer ${plain}`) ??
      keyOfBrowser(req.header('sec-websocket-protocol'));
    const isInUrl = keysInText.test(req.url);
    const key = isInUrl ? null : store.verify(/^Bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? '');
    if (key) return { user: key.user, keyId: key.id, scopes: key.scopes, actsFor: 'self' };
    spend(failures, env.incoming.socket.remoteAddress ?? '', 'Too many requests without a valid key');
    if (isInUrl) throw new GeodeError('unauthorized', 'A key in a URL ends up in logs, so it is refused');
    if (header === undefined) throw new GeodeError('unauthorized', 'This path needs an API key');
    throw new GeodeError('unauthorized', 'The API key is unknown or was revoked');
  }
}

/** The routes for the tools of a session: the only way from a sandbox into the API. */
const routesOfTools =
  /^\/api\/v1\/(context(\/.*)?|runs|solve|chats\/[^/]+\/schedules|schedules(\/[^/]+)?|sandboxes\/[^/]+\/egress\/allow)$/s;

function fromSandbox({ req, env: { reach } }: Context<ApiEnv>): Caller {
  if (reach !== undefined && routesOfTools.test(req.path))
    return { ...sandboxed, user: checkUser(reach.user) };
  throw new GeodeError('forbidden', `Tools in sandboxes cannot call ${req.method} ${req.path}`);
}

/**
 * A person may read what the sandbox of one chat stored. A tool in that sandbox reads it together with the memory of
 * its user.
 */
function memoryOf(store: MemoryStore, { user }: Caller, { req, env: { reach } }: Context<ApiEnv>): Memory {
  if (reach !== undefined)
    return reach.memory === 'user' ? store.in(user) : chatMemory(store, user, reach.chat);
  const chat = req.path.startsWith('/api/v1/context') ? req.query('chat') : undefined;
  if (chat === undefined) return store.in(user);
  if (req.method !== 'GET' && req.method !== 'DELETE')
    throw new GeodeError('invalid_input', "Only tools in a chat's sandbox can write the memory of the chat");
  return store.in(chatNamespace(user, chat));
}

/** A program in a sandbox gets the user's objects that its tools need, and nothing of an operator or a person. */
const sandboxed: Omit<Caller, 'user'> = {
  keyId: 'tools',
  scopes: ['memory:read', 'memory:write', 'sandboxes:read', 'sandboxes:write', 'runs', 'agents'],
  actsFor: 'self',
};

const everyone: Caller = { user: localUser, keyId: 'none', scopes, actsFor: 'self' };

/** A page cannot set any other header for a WebSocket, so the key is sent as one of the offered protocols. */
function keyOfBrowser(protocols = ''): string | undefined {
  const key = protocols
    .split(',')
    .map((name) => name.trim())
    .find((name) => name.startsWith(keyProtocol));
  return key && `Bearer ${key.slice(keyProtocol.length)}`;
}

/** Percent-encoded, which leaves valid names unchanged. */
function userIn(request: Context<ApiEnv>['req']): string | undefined {
  const given = request.header('geode-user');
  try {
    return given && decodeURIComponent(given);
  } catch {
    return given;
  }
}

/** The operator can still read and remove sandboxes with names from before the rule for names. */
const takesFormerNames = /^\/api\/v1\/sandboxes(\/|$)/;

function actingFor(user: string | undefined, caller: Caller, path: string): Caller {
  if (user === undefined || user === caller.user) return caller;
  if (caller.actsFor === 'anyone')
    return { ...caller, user: takesFormerNames.test(path) ? user : checkUser(user) };
  throw new GeodeError('forbidden', 'A key acts only for its own user', {
    hint: 'Remove the header Geode-User, or use a key of that user.',
  });
}

/** Lets only keys with this scope through. */
export function requireScope(scope: Scope) {
  return createMiddleware<ApiEnv>(async (context, next) => {
    refuseWithout(context, scope);
    context.var.spendScope(scope);
    await next();
  });
}

export function refuseWithout({ var: { caller } }: Context<ApiEnv>, scope: Scope): void {
  if (caller.scopes.includes(scope)) return;
  throw new GeodeError('forbidden', `This key does not have the scope ${scope}`);
}

function spend(limiter: RateLimiter, caller: string, complaint: string): void {
  const waitMs = limiter.take(caller);
  if (waitMs > 0) {
    throw new GeodeError('rate_limited', complaint, { details: { retry_after_s: Math.ceil(waitMs / 1000) } });
  }
}
