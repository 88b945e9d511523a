/** A request below a path of the API, for a server in a sandbox. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pathForm } from './forms.ts';
import { forwardToPreview } from './forward.ts';

interface ByPath {
  /** The path of the server's own root. */
  readonly prefix: string;
  readonly rest: string;
  readonly dial: () => Promise<Duplex>;
}

/** Headers that identify the caller; no sandbox gets them. */
const secret: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'geode-user',
  'x-user-id',
  'x-session-id',
  'x-terminal-context-id',
]);

export async function forwardByPath(
  request: IncomingMessage,
  response: ServerResponse,
  { prefix, rest, dial }: ByPath,
): Promise<void> {
  const form = pathForm(request, prefix, rest);
  await forwardToPreview(
    request,
    response,
    { ...form, request: (pair) => (secret.has(pair[0].toLowerCase()) ? [] : form.request(pair)) },
    dial,
  );
}
