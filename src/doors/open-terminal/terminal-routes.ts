/** Shells of a person, each joined over a WebSocket. */
import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { leadConversation } from '../../api/upgrade.ts';
import { GeodeError } from '../../base/errors.ts';
import type { ProcessFacts } from '../../seams/process.ts';
import type { Places } from './place.ts';
import { bodyTool, tool, type WireDoor } from './routes.ts';
import { shellsIn, startIn } from './session-processes.ts';
import { joinShell, type OpenShells } from './shell-socket.ts';

const mostShells = 16;
const shell = 'command -v bash >/dev/null && exec bash; exec sh';
/** Recent output that a model may read. */
const recentBytes = 64 * 1024;

export function terminalRoutes(door: WireDoor, places: Places, open: OpenShells): void {
  door.openapi(output, async (context) => {
    const { sandbox, facts } = await connected(context, places, open);
    const pieces: Uint8Array[] = [];
    for (const event of sandbox.journals.open(facts.id).read(Math.max(0, facts.offset - recentBytes)))
      if (event.type === 'stdout') pieces.push(event.bytes);
    return context.json({ output: Buffer.concat(pieces).subarray(-recentBytes).toString() }, 200);
  });
  door.openapi(input, async (context) => {
    const { sandbox, facts } = await connected(context, places, open);
    const process = await sandbox.attach(facts.id, { from: facts.offset, signal: signalOf(context) });
    await process.write(context.req.valid('json').input);
    return context.json({ status: 'ok' }, 200);
  });
  door.post('/api/terminals', async (context) => {
    const sandbox = await places.use(context);
    const session = sessionIn(context);
    const own = await shellsIn(sandbox, session, signalOf(context));
    if (own.length >= mostShells)
      throw new GeodeError('rate_limited', `Maximum number of terminal sessions (${mostShells}) reached.`, {
        hint: 'Close one of them.',
      });
    const { id, pid } = await startIn(sandbox, {
      kind: 'shell',
      session,
      script: shell,
      cwd: places.folder(context),
    });
    return context.json({ id, created_at: new Date().toISOString(), pid }, 200);
  });
  door.get('/api/terminals', async (context) => {
    const sandbox = await places.running(context);
    const own = sandbox === undefined ? [] : await shellsIn(sandbox, sessionIn(context), signalOf(context));
    return context.json(own.map(shown), 200);
  });
  door.get('/api/terminals/:id', async (context) => {
    const { sandbox, facts } = await found(context, places);
    if (context.env.upgrade === undefined) return context.json(shown(facts), 200);
    const { stopping } = context.var;
    return leadConversation(context, (conversation) =>
      joinShell(conversation, { sandbox, facts, open, stopping }),
    );
  });
  door.delete('/api/terminals/:id', async (context) => {
    const { sandbox, facts } = await found(context, places);
    await sandbox.signal(facts.id, 'SIGKILL', { tree: true, signal: signalOf(context) });
    return context.json({ status: 'deleted' }, 200);
  });
}

function sessionIn({ req }: Context<ApiEnv>): string {
  return req.header('x-session-id') ?? '';
}

async function found(context: Context<ApiEnv>, places: Places) {
  const sandbox = await places.running(context);
  const own = sandbox === undefined ? [] : await shellsIn(sandbox, sessionIn(context), signalOf(context));
  const facts = own.find(({ id }) => id === context.req.param('id'));
  if (sandbox !== undefined && facts !== undefined) return { sandbox, facts };
  throw new GeodeError('process_not_found', 'Session not found.');
}

/** The newest shell that the person has open. */
async function connected(context: Context<ApiEnv>, places: Places, open: OpenShells) {
  const sandbox = await places.running(context);
  const own = sandbox === undefined ? [] : await shellsIn(sandbox, sessionIn(context), signalOf(context));
  const facts = own.findLast(({ id }) => sandbox !== undefined && open.has(`${sandbox.id} ${id}`));
  if (sandbox !== undefined && facts !== undefined) return { sandbox, facts };
  throw new GeodeError('process_not_found', 'No connected user shell', { hint: 'Open a terminal first.' });
}

function shown({ id, pid, startedAt }: ProcessFacts): object {
  return { id, created_at: new Date(startedAt).toISOString(), pid };
}

const output = tool('get', '/api/terminals/user/output', {
  id: 'read_user_terminal',
  summary: 'Read the terminal of the user',
  description: 'Recent output of the shell that the user has open. It opens none.',
});

const input = bodyTool('/api/terminals/user/input', {
  id: 'send_user_terminal_input',
  summary: 'Type into the terminal of the user',
  description:
    'Send text to the shell that the user has open. Read its output first. It does not wait for the end of a command.',
  body: z.object({ input: z.string().describe('The text, with its line breaks.') }),
});
