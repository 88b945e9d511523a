import { GeodeError } from '../../base/errors.ts';
import type { ExitFacts } from '../../seams/process.ts';

/** The agent exited before it answered. The sender may send the message again. */
export function agentEnded(message: string, cause?: unknown): GeodeError {
  return new GeodeError('agent_ended', message, { cause });
}

/** Leaves out the program's output: its journal has it, for the operator. */
export function endOf({ exitCode, signal, timedOut, oomKilled, durationMs }: ExitFacts): GeodeError {
  if (timedOut)
    return agentEnded(`The agent exceeded the timeout of one turn: ${Math.round(durationMs / 1000)} s.`);
  if (oomKilled) return agentEnded('The sandbox of the agent ran out of memory.');
  const how = signal === null ? `exit code ${exitCode}` : signal;
  return agentEnded(`The agent crashed before it answered (${how}).`);
}
