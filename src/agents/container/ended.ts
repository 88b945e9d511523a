import { GeodeError } from '../../base/errors.ts';
import type { ExitFacts } from '../../seams/process.ts';

/** The agent is gone before it answered. Whoever sent the message may send it again. */
export function agentEnded(message: string, cause?: unknown): GeodeError {
  return new GeodeError('agent_ended', message, { cause });
}

/** Without what it wrote: its journal has that, for whoever runs the host. */
export function endOf({ exitCode, signal, timedOut, oomKilled, durationMs }: ExitFacts): GeodeError {
  if (timedOut)
    return agentEnded(`The agent took longer than one turn may: ${Math.round(durationMs / 1000)} s.`);
  if (oomKilled) return agentEnded('The sandbox of the agent ran out of memory.');
  const how = signal === null ? `exit code ${exitCode}` : signal;
  return agentEnded(`The agent crashed before it answered (${how}).`);
}
