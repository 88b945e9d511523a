import { GeodeError } from '../base/errors.ts';
import type { Attachment } from './agent.ts';

const mostBytes = 32 * 1024 * 1024;

/** Throws `too_large`. Clients check too, to avoid sending a file that will be refused. */
export function refuseLargeAttachments(attachments: readonly Attachment[]): void {
  const bytes = attachments.reduce((sum, each) => sum + each.bytes.length, 0);
  if (bytes <= mostBytes) return;
  throw new GeodeError(
    'too_large',
    `The attachments have ${bytes} bytes in total; the maximum is ${mostBytes}.`,
    { hint: 'Copy large files to the workspace of the sandbox first, and name them in the message.' },
  );
}
