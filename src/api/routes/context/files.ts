import { filesSchema, newIdSchema } from '../../../contract/context.ts';
import { problemSchema } from '../../../contract/problem.ts';
import { GeodeError } from '../../../core/errors.ts';
import type { NewEntry } from '../../../core/memory.ts';
import { extractText } from '../../files/extract.ts';
import { requireScope } from '../../guards/auth.ts';
import { bodyRefusals, defineRoute, json, limitBulkBody, refusals, security } from '../../route.ts';
import { manyStored, storeMany } from './store-many.ts';

export const files = defineRoute(
  {
    method: 'post',
    path: '/api/v1/context/files',
    summary: 'Store files: text, Markdown, code, HTML, PDF',
    description:
      'Each file becomes one entry. Answers with JSON once all are stored, or with none stored when one is refused; with `Accept: text/event-stream` it stores and reports them one by one.',
    tags: ['context'],
    security,
    middleware: [requireScope('memory:write'), limitBulkBody],
    request: {
      body: {
        description: 'The files.',
        content: { 'multipart/form-data': { schema: filesSchema } },
        required: true,
      },
    },
    responses: {
      ...manyStored,
      ...refusals,
      ...bodyRefusals,
      422: json('A file has no text that can be read.', problemSchema),
    },
  },
  (context) => {
    const { file, tag = [], category, prefix = '' } = context.req.valid('form');
    const sent = [file].flat();
    const entries = entriesOf(sent, { prefix, category, tags: [tag].flat() }, context.req.raw.signal);
    return storeMany(context, entries, sent.length);
  },
);

interface FileFacts {
  readonly prefix: string;
  readonly category: string;
  readonly tags: readonly string[];
}

async function* entriesOf(
  sent: readonly File[],
  { prefix, category, tags }: FileFacts,
  signal: AbortSignal,
): AsyncGenerator<readonly NewEntry[]> {
  for (const file of sent) {
    const name = prefix + file.name;
    checkName(name);
    const content = await extractText({ name, bytes: new Uint8Array(await file.arrayBuffer()) }, { signal });
    yield [{ key: name, content, category, source: name, tags }];
  }
}

function checkName(name: string): void {
  const { error } = newIdSchema.safeParse(name);
  const [issue] = error?.issues ?? [];
  if (issue)
    throw new GeodeError(
      'invalid_input',
      `The file name ${JSON.stringify(name)} cannot be an id: ${issue.message}`,
    );
}
