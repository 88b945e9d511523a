import type { Log } from '../../base/log.ts';

/** Log lines of an adapter rarely matter to the operator. */
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
