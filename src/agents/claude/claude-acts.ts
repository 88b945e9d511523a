import { z } from 'zod';
import type { Act } from '../permission-policy.ts';

const readers = new Set(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead']);
const writers = new Set(['Write', 'Edit', 'MultiEdit', 'NotebookEdit']);
const file = z.object({ file_path: z.string() }).or(z.object({ notebook_path: z.string() }));
const shell = z.object({ command: z.string() });

/** The act of a Claude Code tool. */
export function claudeAct(tool: string, input: unknown): Act {
  if (readers.has(tool)) return { type: 'read' };
  const named = writers.has(tool) ? file.safeParse(input).data : undefined;
  if (named !== undefined)
    return { type: 'edit', paths: ['file_path' in named ? named.file_path : named.notebook_path] };
  const command = tool === 'Bash' ? shell.safeParse(input).data?.command : undefined;
  return command === undefined ? { type: 'other' } : { type: 'command', command };
}
