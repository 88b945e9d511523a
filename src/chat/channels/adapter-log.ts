import type { Log } from '../../base/log.ts';

/** What an adapter has to say is rarely news to whoever runs this host. */
export function adapterLog(log: Log) {
  const own = {
    debug: (message: string) => log.debug(message),
    info: (message: string) => log.debug(message),
    warn: (message: string) => log.debug(message),
    error: (message: string) => log.warn(message),
    child: () => own,
  };
  return own;
}
