import { GeodeError } from '../../base/errors.ts';
import type { Limits } from '../../seams/limits.ts';
import type { ExitEvent } from './journal-lines.ts';

/** Error messages of programs for an unknown option: the program's version is not the one that Geode expects. */
const unknownOption = /unknown option|unexpected argument|unrecognized (option|argument)|unknown argument/i;

/** The error for an agent's program that exited before it answered, with the program's own message. */
export function endedEarly(
  program: string,
  { signal, exitCode, oomKilled, stderr }: ExitEvent,
  { memoryBytes }: Limits,
): GeodeError {
  const words = stderr.slice(-1000).trim();
  if (oomKilled) return outOfMemory(program, memoryBytes ?? null);
  if (unknownOption.test(words))
    return new GeodeError('agent_unavailable', `This version of ${program} is not supported: ${words}`, {
      hint: 'Build the image for agents with `geode image build agent`, or install the versions in images/agent/package.json, and start a new chat.',
    });
  const how = signal ?? `exit code ${exitCode}`;
  return new GeodeError('agent_failed', `${program} exited (${how}) without an answer: ${words}`);
}

/** A command of the agent may also have used up the memory. */
function outOfMemory(program: string, memoryBytes: number | null): GeodeError {
  const limit = memoryBytes === null ? '' : ` (limit ${Math.round(memoryBytes / 1024 ** 2)} MB)`;
  return new GeodeError('agent_failed', `${program} exited: its sandbox ran out of memory${limit}.`, {
    hint: 'Raise `agents.memory` in the config and start a new chat: a sandbox keeps the limit that it was created with.',
  });
}
