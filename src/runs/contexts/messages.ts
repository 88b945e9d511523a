import { z } from 'zod';
import { broken } from './frames.ts';
import type { Rich } from './rich.ts';

const base64 = z.base64().transform((text): Uint8Array => Buffer.from(text, 'base64'));
const run = z.number().int().nonnegative();

const richSchema = z.object({
  text: z.string(),
  html: z.string().optional(),
  markdown: z.string().optional(),
  latex: z.string().optional(),
  svg: z.string().optional(),
  png: base64.optional(),
  jpeg: base64.optional(),
  json: z.json().optional(),
  table: z
    .object({
      columns: z.array(z.string()),
      rows: z.array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]))),
      totalRows: z.number().int().nonnegative(),
    })
    .optional(),
  omitted: z.array(z.string()).max(20),
});

const messageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), version: z.string().max(100) }),
  z.object({ type: z.literal('display'), run, rich: richSchema }),
  z.object({ type: z.literal('value'), run, rich: richSchema }),
  z.object({
    type: z.literal('error'),
    run,
    name: z.string(),
    message: z.string(),
    traceback: z.string(),
    interrupted: z.boolean(),
  }),
  z.object({ type: z.literal('done'), run }),
  z.object({ type: z.literal('checked'), id: run, state: z.enum(['complete', 'incomplete', 'invalid']) }),
  z.object({ type: z.literal('closed') }),
]);

/** Messages from a kernel to the host. They come from where user code runs, so they are not trusted. */
export type KernelMessage = z.infer<typeof messageSchema>;
export type CheckState = Extract<KernelMessage, { type: 'checked' }>['state'];
export type RichMessage = Extract<KernelMessage, { type: 'display' | 'value' }>;

/** Messages from the host to a kernel, as lines of JSON. */
export type KernelCommand =
  | { readonly type: 'run'; readonly run: number; readonly code: string }
  | { readonly type: 'interrupt'; readonly run: number }
  /** Means nothing. But a python kernel hears of it by a signal, as of every command, and then acts on earlier ones. */
  | { readonly type: 'nudge' }
  | { readonly type: 'check'; readonly id: number; readonly code: string }
  | { readonly type: 'close' };

export function parseKernelMessage(json: string): KernelMessage {
  try {
    return messageSchema.parse(JSON.parse(json));
  } catch (cause) {
    throw broken(`an invalid message (${cause instanceof Error ? cause.name : 'unreadable'})`);
  }
}

/** A missing form has no field at all, not an undefined one. */
export function richOf({ type, rich }: RichMessage): Rich {
  const present = Object.fromEntries(Object.entries(rich).filter(([, content]) => content !== undefined));
  return { ...present, kind: type, text: rich.text, omitted: rich.omitted };
}
