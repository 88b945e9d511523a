/** Servers in the sandbox: which ports listen, and their pages by path. */
import type { Context } from 'hono';
import type { ApiEnv } from '../../api/environment.ts';
import { signalOf } from '../../api/streams.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import { formByPath } from '../../previews/form-by-path.ts';
import { listeningPorts } from '../../sandboxes/listening-ports.ts';
import { forwardThrough } from '../forward-through.ts';
import type { Places } from './place.ts';
import type { WireDoor } from './routes.ts';

export function portRoutes(door: WireDoor, places: Places): void {
  door.get('/ports', async (context) => {
    const sandbox = await places.running(context);
    const ports = sandbox === undefined ? [] : await listeningPorts(sandbox, { signal: signalOf(context) });
    return context.json({ ports }, 200);
  });
  door.all('/proxy/:port{[0-9]+}', (context) => proxied(context, places));
  door.all('/proxy/:port{[0-9]+}/*', (context) => proxied(context, places));
}

/** The answer is written by hand: it is the server's own, with a policy that keeps its pages apart. */
async function proxied(context: Context<ApiEnv>, places: Places): Promise<Response> {
  const port = Number(context.req.param('port'));
  if (!(port >= 1 && port <= 65_535)) throw new GeodeError('invalid_input', `${port} is not a port.`);
  const sandbox = await places.running(context);
  if (sandbox === undefined)
    throw new GeodeError('file_not_found', 'No server runs: the sandbox is not running.');
  const tunnel = await sandbox.tunnel(port, { signal: signalOf(context) }).catch((error: unknown) => {
    if (!isGeodeError(error, 'tunnel_refused')) throw error;
    throw new GeodeError('file_not_found', `Nothing listens on port ${port} in the sandbox.`, {
      cause: error,
    });
  });
  const { incoming } = context.env;
  const [prefix = '', rest = '/'] = parted(incoming.url ?? '/', port);
  return await forwardThrough(context, tunnel, formByPath(incoming, prefix, rest));
}

function parted(url: string, port: number): readonly [string, string] {
  const at = url.indexOf(`/proxy/${port}`) + `/proxy/${port}`.length;
  const rest = url.slice(at);
  return [url.slice(0, at), rest.startsWith('/') ? rest : `/${rest}`];
}
