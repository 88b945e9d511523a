import type { Server } from 'node:http';

/**
 * Lets a client end its sending side after a request and still receive the answer. Node's server hangs up otherwise.
 * The types lack this property.
 */
export function answeringHalfOpen(server: Server): Server {
  return Object.assign(server, { httpAllowHalfOpen: true });
}
