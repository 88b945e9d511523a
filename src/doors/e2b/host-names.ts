/** Servers in sandboxes under the names of `getHost`: `PORT-ID.DOMAIN`. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Context } from 'hono';
import type { ApiEnv, ApiParts } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { isGeodeError } from '../../base/errors.ts';
import { type Form, nameForm } from '../../previews/forms.ts';
import type { Sandboxes } from '../../seams/persistent.ts';
import { forwardThrough } from '../forward-through.ts';
import type { E2bSandbox } from './e2b-table.ts';
import type { E2b } from './open-e2b.ts';
import { opened } from './reach.ts';

/** The header of E2B's SDKs for sandboxes whose servers are not open to everybody. */
const tokenHeader = 'e2b-traffic-access-token';

interface Named {
  readonly port: number;
  readonly id: string;
}

/** Undefined for a name that is not below the domain. */
export function answerNamed(
  context: Context<ApiEnv>,
  e2b: E2b,
  { sandboxes, log }: Pick<ApiParts, 'sandboxes' | 'log'>,
): Promise<Response> | undefined {
  const named = namedIn(context.req.header('host') ?? '', e2b.domain);
  if (named === undefined || sandboxes === undefined) return undefined;
  return forward(context, e2b, sandboxes, named).catch((error: unknown) => {
    log.warn({ err: error, sandbox: named.id }, 'a server in a sandbox cannot be reached');
    return context.json({ sandboxId: named.id, message: 'The sandbox cannot be reached', code: 502 }, 502);
  });
}

function namedIn(host: string, domain: string | null): Named | undefined {
  if (domain === null) return undefined;
  const [name = ''] = host.toLowerCase().split(':', 1);
  const [below = ''] = domain.split(':', 1);
  if (!name.endsWith(`.${below}`)) return undefined;
  const [, port, id] = /^(\d{1,5})-([a-z0-9]{1,64})$/.exec(name.slice(0, -below.length - 1)) ?? [];
  if (port === undefined || id === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { port: Number(port), id };
}

async function forward(
  context: Context<ApiEnv>,
  e2b: E2b,
  sandboxes: Sandboxes,
  { port, id }: Named,
): Promise<Response> {
  const known = e2b.table.find(id);
  const gone = () => context.json({ sandboxId: id, message: 'Sandbox not found', code: 0 }, 502);
  if (known?.kind !== 'sandbox') return gone();
  const token = context.req.header(tokenHeader);
  if (known.isPrivate && (token === undefined || e2b.tokens.userOf(token, id) !== known.user))
    return context.json(
      { sandboxId: id, message: `The header ${tokenHeader} is missing or wrong`, code: 403 },
      403,
    );
  const signal = signalOf(context);
  let tunnel: Duplex;
  try {
    const sandbox = await opened(e2b, sandboxes.of(known.user), known, signal);
    tunnel = await sandbox.tunnel(port, { signal });
  } catch (error) {
    if (isGeodeError(error, 'sandbox_not_found')) return gone();
    const message = isGeodeError(error, 'tunnel_refused')
      ? 'The sandbox is running but port is not open'
      : isGeodeError(error, 'sandbox_paused')
        ? 'The sandbox is paused'
        : undefined;
    if (message === undefined) throw error;
    return refuseClosed(context, { sandboxId: id, message, port, code: 502 });
  }
  return await forwardThrough(context, tunnel, formOf(context.env.incoming, known, port));
}

/** The server gets no token of the sandbox, which would let it speak for the owner. */
function formOf(request: IncomingMessage, { shownHost }: E2bSandbox, port: number): Form {
  const form = nameForm(request);
  return {
    ...form,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: E2B's own placeholder.
    ...(shownHost !== null && { host: shownHost.replaceAll('${PORT}', String(port)) }),
    request: (pair) => (pair[0].toLowerCase() === tokenHeader ? [] : form.request(pair)),
  };
}

/** Browsers get a page, programs JSON. */
function refuseClosed(
  context: Context<ApiEnv>,
  facts: {
    readonly sandboxId: string;
    readonly message: string;
    readonly port: number;
    readonly code: number;
  },
): Response {
  if (!/^mozilla\//i.test(context.req.header('user-agent') ?? '')) return context.json(facts, 502);
  const title = 'Closed Port Error';
  return context.html(
    `<!doctype html><title>${title}</title><h1>${title}</h1><p>${facts.message}: port ${facts.port} of ${facts.sandboxId}.</p>`,
    502,
  );
}
