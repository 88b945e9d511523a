import type { Server } from 'node:http';

/**
 * A client may end its sending side after its request and still wants the answer. Node's server hangs up on it unless
 * this property says otherwise, which the types do not know.
 */
export function answeringHalfOpen(server: Server): Server {
  return Object.assign(server, { httpAllowHalfOpen: true });
}
