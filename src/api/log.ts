/**
 * Log lines on stderr: JSON for programs, one plain line for a person at a terminal. They contain no bodies, queries,
 * keys or secrets.
 */
import { createMiddleware } from 'hono/factory';
import { type Logger, pino, stdSerializers } from 'pino';
import { z } from 'zod';
import { isGeodeError } from '../base/errors.ts';
import { withoutSecrets } from '../base/secret-shapes.ts';
import { keysInText } from '../identity/keys.ts';
import type { ApiEnv } from './environment.ts';

export function createLog(
  level: string,
  write: (line: string) => void = toStderr,
  secretValues: () => readonly string[] = () => [],
): Logger {
  return pino(
    { level, base: null, serializers: { err: errorFacts } },
    {
      write: (line) => {
        // Geode's own keys keep their id, so that a person sees which one it was.
        const named = line.replaceAll(
          new RegExp(keysInText, 'g'),
          (_, one, other) => `geode_${one ?? other}_[redacted]`,
        );
        write(withoutSecrets(named, secretValues()));
      },
    },
  );
}

function toStderr(line: string): void {
  process.stderr.write(process.stderr.isTTY ? terminalLine(line) : line);
}

/** A GeodeError explains itself; other errors need their stack. */
function errorFacts(error: unknown): unknown {
  if (isGeodeError(error) && error.code !== 'internal')
    return { type: error.name, code: error.code, message: error.message };
  return error instanceof Error ? stdSerializers.errWithCause(error) : error;
}

const recordSchema = z.looseObject({
  level: z.number(),
  time: z.number(),
  msg: z.string().default(''),
  err: z.looseObject({ message: z.string().optional(), code: z.string().optional() }).optional(),
  method: z.string().optional(),
  path: z.string().optional(),
  status: z.number().optional(),
});

/** `12:30:59 error POST /api/v1/runs 502: The image … could not be pulled (pull_failed)`. */
export function terminalLine(line: string): string {
  const parsed = recordSchema.safeParse(JSON.parse(line));
  if (!parsed.success) return line;
  const { level, time, msg, err, method, path, status } = parsed.data;
  const what = method === undefined ? msg : `${method} ${path} ${status}`;
  const why = err?.message === undefined || msg.includes(err.message) ? '' : `: ${err.message}`;
  const code = err?.code === undefined ? '' : ` (${err.code})`;
  const text = `${new Date(time).toTimeString().slice(0, 8)} ${pino.levels.labels[level]} ${what}${why}${code}`;
  // Text from elsewhere must not break the line or move the cursor.
  return `${text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ')}\n`;
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
