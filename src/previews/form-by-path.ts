/** A request below a path of the API, for a server in a sandbox. */
import type { IncomingMessage } from 'node:http';
import { type Form, pathForm } from './forms.ts';

/** Headers that identify the caller; no sandbox gets them. */
const secret: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'geode-user',
  'x-user-id',
  'x-session-id',
  'x-terminal-context-id',
]);

/** `prefix` is the path of the server's own root, and `rest` the remaining path. */
export function formByPath(request: IncomingMessage, prefix: string, rest: string): Form {
  const form = pathForm(request, prefix, rest);
  return { ...form, request: (pair) => (secret.has(pair[0].toLowerCase()) ? [] : form.request(pair)) };
}
