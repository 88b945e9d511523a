import { toWire } from '../../../contract/names.ts';
import { chatParams, newPreviewSchema, previewSchema } from '../../../contract/sandboxes.ts';
import type { Previews } from '../../../previews/previews.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitEntryBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { startedSandbox } from '../../sandbox-of.ts';

export function portRoutes(previews: Previews) {
  return [
    defineRoute(
      {
        method: 'post',
        path: '/api/v1/sandboxes/{chat}/ports',
        summary: 'Show a server in the sandbox on the machine of the host',
        description:
          'The URL leads there until the sandbox stops, for whoever has it: its token becomes a cookie. HTTP, streams and WebSockets pass.',
        tags: ['sandboxes'],
        security,
        middleware: [requireScope('sandboxes:write'), limitEntryBody],
        request: {
          params: chatParams,
          body: jsonBody('The port that the server listens on.', newPreviewSchema),
        },
        responses: { 200: json('Where it is seen.', previewSchema), ...sandboxRefusals, ...bodyRefusals },
      },
      async (context) => {
        const sandbox = await startedSandbox(context, context.req.valid('param').chat);
        const { port } = context.req.valid('json');
        return context.json(toWire(await previews.open(sandbox, port, { signal: signalOf(context) })), 200);
      },
    ),
  ] as const;
}
