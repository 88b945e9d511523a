import type { z } from 'zod';
import { GeodeError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';

/** Throws for the first invalid value, with the nearest known name. */
export function configError(
  error: z.ZodError,
  known: readonly string[],
  whereOf: (path: string) => string,
): GeodeError {
  const [issue] = error.issues;
  const path = issue?.path.join('.') ?? '';
  if (issue?.code === 'unrecognized_keys') {
    const key = [path, issue.keys[0]].filter(Boolean).join('.');
    const near = nearest(key, known);
    return new GeodeError('invalid_config', `There is no setting ${key} (${whereOf(key)}).`, {
      hint: near === undefined ? 'Run `geode config` to see all settings.' : `Did you mean ${near}?`,
    });
  }
  return new GeodeError(
    'invalid_config',
    `${path || 'The config'} (${whereOf(path)}): ${issue?.message ?? 'is not valid'}`,
  );
}
