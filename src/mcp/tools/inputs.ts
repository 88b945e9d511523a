/** Fields shared by several tools. */
import { z } from 'zod';

export const chat = z
  .string()
  .min(1)
  .max(8192)
  .describe('The sandbox, by the name of its chat, as in sandbox_create and sandbox_list.');

export const timeoutSeconds = z
  .number()
  .positive()
  .max(3600)
  .default(60)
  .describe('Timeout in seconds; then it is killed.');

/** Maximum bytes of stdout and of stderr in an answer. */
export const outputLimitBytes = 100_000;
