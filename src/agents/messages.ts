import { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import type { AgentMessage, Attachment } from '../seams/agent.ts';
import { refuseLargeAttachments } from '../seams/attachment-limit.ts';
import type { Files } from '../seams/files.ts';

const longestText = 200_000;
const mostAttachments = 20;
const folder = 'attachments';

const schema = z.object({
  text: z.string(),
  mark: z.string().min(1).max(512).optional(),
  unattended: z.boolean().default(false),
  attachments: z
    .array(
      z.object({
        name: z
          .string()
          .min(1)
          .max(200)
          .regex(/^[^/\0]+$/, 'a name has no slash')
          .refine((name) => name !== '.' && name !== '..', 'must be a name'),
        bytes: z.instanceof(Uint8Array),
      }),
    )
    .max(mostAttachments)
    .default([]),
});

export interface CheckedMessage {
  readonly text: string;
  readonly mark: string | null;
  readonly unattended: boolean;
  readonly attachments: readonly Attachment[];
}

/** Throws `invalid_input` or `too_large`. */
export function checkMessage(given: AgentMessage): CheckedMessage {
  const parsed = schema.safeParse(given);
  if (!parsed.success)
    throw new GeodeError('invalid_input', `The message is not valid: ${z.prettifyError(parsed.error)}`);
  const { text, mark = null, attachments, unattended } = parsed.data;
  if (text.trim() === '' && attachments.length === 0)
    throw new GeodeError('invalid_input', 'The message is empty.');
  if (text.length > longestText) {
    throw new GeodeError(
      'too_large',
      `The message has ${text.length} characters; the maximum is ${longestText}.`,
      { hint: 'Shorten it, and send long material as attachments.' },
    );
  }
  refuseLargeAttachments(attachments);
  return { text, mark, attachments, unattended };
}

/** Returns their paths in the workspace. A name that is taken gets a number. */
export async function writeAttachments(
  files: Files,
  attachments: readonly Attachment[],
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const { name, bytes } of attachments) paths.push(await writeOne(files, name, bytes, signal));
  return paths;
}

async function writeOne(
  files: Files,
  name: string,
  bytes: Uint8Array,
  signal: AbortSignal | undefined,
): Promise<string> {
  const dot = name.lastIndexOf('.');
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  for (let number = 1; ; number += 1) {
    const path = `${folder}/${number === 1 ? name : `${stem}-${number}${ending}`}`;
    if (await files.exists(path, { signal })) continue;
    await files.write(path, bytes, { signal });
    return path;
  }
}
