import type { ToolCallUpdate } from '@agentclientprotocol/sdk';
import { z } from 'zod';
import type { Act } from '../permission-policy.ts';
import type { AcpCall } from './acp-state.ts';

const shell = z.object({
  command: z.union([z.string(), z.array(z.string()).transform((words) => words.join(' '))]),
});

/** The act of a tool call, derived from the kind that its agent reports. */
export function actOf({ locations, content }: ToolCallUpdate, call: AcpCall | undefined): Act {
  const kind = call?.kind;
  if (kind === 'read' || kind === 'search') return { type: 'read' };
  if (kind === 'edit' || kind === 'delete' || kind === 'move') {
    const diffs = (content ?? []).flatMap((each) => (each.type === 'diff' ? [each.path] : []));
    return { type: 'edit', paths: [...(locations ?? []).map(({ path }) => path), ...diffs] };
  }
  const command = kind === 'execute' ? shell.safeParse(call?.input).data?.command : undefined;
  return command === undefined ? { type: 'other' } : { type: 'command', command };
}
