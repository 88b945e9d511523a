/** What a tool of the built-in agent is, and what it has to work with. */
import type { z } from 'zod';
import type { UserSchedules } from '../../core/chat.ts';
import type { Memory } from '../../core/memory.ts';
import type { ModelTool } from '../../core/model.ts';
import type { PersistentSandbox } from '../../core/persistent.ts';
import type { ShellPolicy } from '../../shell/policy.ts';

export interface ToolPlace {
  readonly sandbox: PersistentSandbox;
  readonly memory: Memory;
  readonly shellPolicy: ShellPolicy;
  readonly chat: string;
  readonly signal: AbortSignal;
  /** Asks a person whether a command that the policy refuses may run; left out: it never may. */
  readonly permit?: ((request: PermitRequest) => Promise<boolean>) | undefined;
  /** Undefined where nothing runs at set times. */
  readonly schedules?: UserSchedules | undefined;
  /** Of the call that is at work. */
  readonly call: string;
}

export interface PermitRequest {
  readonly call: string;
  /** The rule of the policy that refuses it. */
  readonly rule: string;
  /** Exactly what would run. */
  readonly command: string;
}

export interface AgentTool extends ModelTool {
  run(input: unknown, place: ToolPlace): Promise<string>;
}

export function define<Schema extends z.ZodObject>(tool: {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  run(input: z.output<Schema>, place: ToolPlace): Promise<string>;
}): AgentTool {
  return { ...tool, run: async (input, place) => await tool.run(tool.input.parse(input), place) };
}
