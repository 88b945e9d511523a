/**
 * Open Terminal's API at `/open-terminal`: Open WebUI finds a sealed sandbox for each person, or for each chat, where
 * it expects a terminal server.
 */
import type { OpenAPIHono } from '@hono/zod-openapi';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimits } from '../../api/body-limits.ts';
import type { Door } from '../../api/door.ts';
import type { ApiEnv, ApiParts, Upgrade } from '../../api/environment.ts';
import { requireScope } from '../../api/guards/auth.ts';
import { GeodeError } from '../../base/errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { executeRoutes } from './execute-routes.ts';
import { fileRoutes } from './file-routes.ts';
import { Places } from './place.ts';
import { portRoutes } from './port-routes.ts';
import { newDoor, type WireDoor } from './routes.ts';
import { searchRoutes } from './search-routes.ts';
import { SessionFolders } from './session-folders.ts';
import { awaitKey, type OpenShells } from './shell-socket.ts';
import { skillRoutes } from './skill-routes.ts';
import { terminalRoutes } from './terminal-routes.ts';
import { wholeFileRoutes } from './whole-file-routes.ts';
import { answerError } from './wire-errors.ts';

const path = '/open-terminal';
/** The version of Open Terminal whose wire this is. */
const version = '0.14.5';
const features = { terminal: true, notebooks: false, system: true };
const prompt =
  'You have a sealed Linux sandbox of your own. Use your tools to run commands, to read and write files in /workspace, and to search them. Look at the current state before you change it, and check the output of commands. A command without output usually succeeded. The network is limited by a policy: a refused address is named in the error.';

export function openTerminalDoor(ledger: Ledger): Door {
  const places = new Places(new SessionFolders(ledger));
  return {
    paths: [`${path}/*`],
    caller: () => undefined,
    person: ({ req }) => (req.path.startsWith(`${path}/`) ? req.header('x-user-id') || undefined : undefined),
    // A plain app around it keeps its tools out of the document of the house.
    serve(app, { journals }, authenticated) {
      if (journals !== undefined)
        app.route(path, new Hono<ApiEnv>().route('/', doorTo(app, places, journals, authenticated)));
    },
  };
}

function doorTo(
  app: OpenAPIHono<ApiEnv>,
  places: Places,
  journals: NonNullable<ApiParts['journals']>,
  authenticated: MiddlewareHandler<ApiEnv>,
): WireDoor {
  const door = newDoor();
  const open: OpenShells = new Set();
  const known = new WeakSet<Upgrade>();
  door.onError(answerError);
  door.get('/health', (context) => context.json({ status: 'ok' }, 200));
  door.get('/api/config', (context) => context.json({ features }, 200));
  door.get('/openapi.json', (context) => context.json(documentOf(door), 200));
  door.get('/api/terminals/:id', async (context, next) => {
    if (!isUnknown(context, known)) return await next();
    return awaitKey(context, (request, env) => app.fetch(request, env), known);
  });
  door.use(authenticated);
  door.use(requireScope('sandboxes:write'));
  door.use(bodyLimits.many);
  door.get('/system', (context) => context.json({ prompt }, 200));
  fileRoutes(door, places);
  wholeFileRoutes(door, places);
  searchRoutes(door, places);
  executeRoutes(door, places, journals);
  terminalRoutes(door, places, open);
  portRoutes(door, places);
  skillRoutes(door, places);
  door.all('*', ({ req }) => {
    throw new GeodeError('route_not_found', `There is no ${req.method} ${req.path}`);
  });
  return door;
}

function isUnknown({ env: { upgrade } }: Context<ApiEnv>, known: WeakSet<Upgrade>): boolean {
  return upgrade !== undefined && !known.has(upgrade);
}

/** The tools of a model. */
function documentOf(door: WireDoor): object {
  return door.getOpenAPIDocument({
    openapi: '3.1.0',
    info: { title: 'Open Terminal', version, description: 'A sealed sandbox with files and a terminal.' },
  });
}
