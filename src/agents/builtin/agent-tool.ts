/** The interface and the environment of the built-in agent's tools. */
import type { z } from 'zod';
import type { UnaskedPermission } from '../../seams/agent.ts';
import type { UserSchedules } from '../../seams/chat.ts';
import type { Files } from '../../seams/files.ts';
import type { Memory } from '../../seams/memory.ts';
import type { ModelTool } from '../../seams/model.ts';
import type { ShellPolicy } from '../../seams/shell-policy.ts';
import type { ToolConnection } from '../../seams/tools.ts';
import type { ShellWorkspace } from '../../shell/tool.ts';

/** Where the agent works: its sandbox, seen from the host or from a program inside. */
export interface WorkPlace {
  readonly sandbox: ShellWorkspace & {
    readonly files: Pick<Files, 'read' | 'readText' | 'stat' | 'write' | 'list'>;
  };
  readonly shellPolicy: ShellPolicy;
  readonly signal: AbortSignal;
  /** Actions without a question: none, file changes, or everything that the command policy allows. */
  readonly permissions: UnaskedPermission;
  /** Whether a person is asked for commands that the command policy refuses. */
  readonly dangerous: 'ask' | 'refuse';
  /** Asks a person whether a call is allowed; left out: calls that need a question are refused. */
  readonly permit?: ((request: PermitRequest) => Promise<boolean>) | undefined;
}

/** Parts that only the host can provide. */
export interface HostPlace {
  readonly memory: Memory;
  readonly chat: string;
  readonly signal: AbortSignal;
  /** The tool session of its chat; undefined without one. */
  readonly hostTools?: ToolConnection | undefined;
  /** Undefined where there are no schedules. */
  readonly schedules?: UserSchedules | undefined;
}

export interface PermitRequest {
  readonly call: string;
  readonly tool: string;
  /** The rule of the command policy that refuses it; null: only `agents.permissions` requires the question. */
  readonly rule: string | null;
  /** The file to change; null for a command. */
  readonly path: string | null;
  /** Exactly what would happen. */
  readonly detail: string;
}

export interface AgentTool<Place> extends ModelTool {
  /** `call` is the id of the current call. */
  run(input: unknown, place: Place, call: string): Promise<string>;
}

function definer<Place>() {
  return <Schema extends z.ZodObject>(tool: {
    readonly name: string;
    readonly description: string;
    readonly input: Schema;
    run(input: z.output<Schema>, place: Place, call: string): Promise<string>;
  }): AgentTool<Place> => ({
    ...tool,
    run: async (input, place, call) => await tool.run(tool.input.parse(input), place, call),
  });
}

export const inWorkspace = definer<WorkPlace>();
export const onHost = definer<HostPlace>();
