import type { Context } from 'hono';
import type { ApiEnv, Caller } from '../../api/environment.ts';
import { startedSandbox } from '../../api/sandbox-of.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError } from '../../base/errors.ts';
import type { PersistentSandbox, UserSandboxes } from '../../seams/persistent.ts';
import type { E2bSandbox } from './e2b-table.ts';
import { defaultLifetimeMs } from './lifetimes.ts';
import type { E2b } from './open-e2b.ts';
import { stateOf } from './sandbox-facts.ts';
import type { SignedUrl } from './sandbox-tokens.ts';

/** Returns the running sandbox of a request that is already authorised. */
export type ReachSandbox = (context: Context<ApiEnv>) => Promise<PersistentSandbox>;

/** A sandbox token allows everything inside its sandbox. */
const inSandbox: Omit<Caller, 'user' | 'keyId'> = {
  scopes: ['sandboxes:read', 'sandboxes:write', 'runs'],
  actsFor: 'self',
};

/** A request with a sandbox token, or with a URL signed by one, acts for the sandbox's user, in that sandbox only. */
export function tokenCaller({ signed, tokens }: E2b, { req, env }: Context<ApiEnv>): Caller | undefined {
  if (!/^\/(e2b\/|files$)/.test(req.path)) return undefined;
  const id = req.header('e2b-sandbox-id');
  const token = req.header('x-access-token') ?? req.header('e2b-traffic-access-token');
  const user = id === undefined || token === undefined ? undefined : tokens.userOf(token, id);
  if (user !== undefined) return { ...inSandbox, user, keyId: `sandbox ${id}` };
  const url = signedUrl(req);
  const found = url && signed.find(url, env.incoming.socket.remoteAddress ?? '');
  return found && { ...inSandbox, user: found.user, keyId: `sandbox ${found.id}` };
}

/** A token opens only its own sandbox. */
function sandboxOf({ table }: E2b, { req, var: { caller } }: Context<ApiEnv>): E2bSandbox {
  const [, own] = /^sandbox (.+)$/s.exec(caller.keyId) ?? [];
  // A signed URL does not name its sandbox: the signature identifies it.
  const id = req.header('e2b-sandbox-id') ?? own;
  const found = id === undefined ? undefined : table.get(caller.user, id);
  const isOpen = own === undefined || own === found?.id;
  if (found !== undefined && found.kind === 'sandbox' && isOpen) return found;
  throw new GeodeError(
    'sandbox_not_found',
    'The sandbox was not found: it was killed or reached its timeout.',
  );
}

export function reachIn(e2b: E2b): ReachSandbox {
  return (context) => opened(e2b, context.var.sandboxes, sandboxOf(e2b, context), signalOf(context));
}

/** Resumes a paused sandbox if it was created with auto-resume; otherwise refuses the request. */
export async function opened(
  { lifetimes }: E2b,
  sandboxes: UserSandboxes,
  known: E2bSandbox,
  signal: AbortSignal,
): Promise<PersistentSandbox> {
  const { id, autoResume } = known;
  const isPaused = stateOf(await sandboxes.inspect(id, { signal })) === 'paused';
  if (isPaused && !autoResume)
    throw new GeodeError('sandbox_paused', 'The sandbox is paused.', {
      hint: 'Connect to it to resume it.',
    });
  const sandbox = await startedSandbox({ sandboxes, signal }, id);
  if (isPaused) await lifetimes.set(known, defaultLifetimeMs);
  return sandbox;
}

const signatureShape = /^v1_[A-Za-z0-9+/]{43}$/;
/** E2B's name for the sandbox's own user; a missing name means the same. */
const ownUsers = ['', 'user'];

/** Only a request for a file can be signed. */
function signedUrl(req: Context<ApiEnv>['req']): SignedUrl | undefined {
  const { signature, path = '', username = '', signature_expiration: expires = '' } = req.query();
  if (signature === undefined || !signatureShape.test(signature) || !req.path.endsWith('/files'))
    return undefined;
  // The signed parts are concatenated without separators, so a name that contains the start of another part could
  // change the request.
  if (!ownUsers.includes(username)) return undefined;
  return { signature, path, operation: req.method === 'GET' ? 'read' : 'write', username, expires };
}

/** Commands run as the sandbox's own user; the runtime decides on other users. */
export function userIn({ req }: Context<ApiEnv>): { readonly user?: string } {
  const [, encoded] = /^Basic +(\S+)$/i.exec(req.header('authorization') ?? '') ?? [];
  const [name = ''] = Buffer.from(encoded ?? '', 'base64')
    .toString()
    .split(':', 1);
  return ownUsers.includes(name) ? {} : { user: name };
}

/** Files always belong to the sandbox's own user. */
export function checkFileUser(context: Context<ApiEnv>): void {
  const { user = context.req.query('username') ?? '' } = userIn(context);
  if (!ownUsers.includes(user))
    throw new GeodeError(
      'cannot_enforce',
      `Files belong to the sandbox's own user, not to ${JSON.stringify(user)}.`,
    );
}
