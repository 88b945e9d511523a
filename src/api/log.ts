/** Logs are lines of JSON on stderr. They carry no bodies, no queries, no keys and no secrets. */
import { createMiddleware } from 'hono/factory';
import { type Logger, pino, stdSerializers } from 'pino';
import { withoutSecrets } from '../core/secret-shapes.ts';
import type { ApiEnv } from './environment.ts';
import { keysInText } from './keys.ts';

export function createLog(
  level: string,
  write: (line: string) => void = (line) => process.stderr.write(line),
  secretValues: () => readonly string[] = () => [],
): Logger {
  return pino(
    { level, base: null, serializers: { err: stdSerializers.errWithCause } },
    {
      write: (line) => {
        // Our own keys keep their id, so that a person sees which one it was.
        const named = line.replaceAll(
          new RegExp(keysInText, 'g'),
          (_, one, other) => `geode_${one ?? other}_[redacted]`,
        );
        write(withoutSecrets(named, secretValues()));
      },
    },
  );
}

export function logRequests(log: Logger) {
  return createMiddleware<ApiEnv>(async (context, next) => {
    const startMs = performance.now();
    context.set('log', log.child({ request: context.var.requestId }));
    await next();
    const { status } = context.res;
    const level = status >= 500 ? 'error' : 'info';
    context.var.log[level](
      {
        method: context.req.method,
        path: context.req.path,
        status,
        ms: Math.round(performance.now() - startMs),
        // Absent on paths that need no key.
        user: context.get('caller')?.user,
        key: context.get('caller')?.keyId,
        err: level === 'error' ? context.error : undefined,
      },
      'request',
    );
  });
}
