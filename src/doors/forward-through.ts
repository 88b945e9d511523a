import type { Duplex } from 'node:stream';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { ApiEnv } from '../api/environment.ts';
import { GeodeError } from '../base/errors.ts';
import type { Form } from '../previews/forms.ts';
import { forwardToPreview, forwardUpgradeToPreview } from '../previews/forward.ts';

/**
 * Passes a request or a WebSocket through a tunnel to a server in a sandbox, and ends the tunnel. The answer is the
 * server's own, so it is written without the API.
 */
export async function forwardThrough(
  context: Context<ApiEnv>,
  tunnel: Duplex,
  form: Form,
): Promise<Response> {
  const { incoming, outgoing, takeOver } = context.env;
  const dial = async () => tunnel;
  const end = () => void tunnel.destroy();
  tunnel.on('error', () => {});
  if (takeOver === undefined) {
    await forwardToPreview(incoming, outgoing, form, dial).finally(end);
    return RESPONSE_ALREADY_SENT.clone();
  }
  if (incoming.headers.upgrade?.toLowerCase() !== 'websocket') {
    end();
    throw new GeodeError('invalid_input', 'A connection can change to a WebSocket, and to nothing else.');
  }
  takeOver((client, head) => forwardUpgradeToPreview(incoming, client, head, form, dial).finally(end));
  return context.body(null, 200);
}
