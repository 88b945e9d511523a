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
    return new GeodeError('agent_unavailable', `${program} is of a version that is not supported: ${words}`, {
      hint: 'Use the version of the image for agents: build it with `geode image build agent`, or install what images/agent/package.json names, and begin in a new chat.',
    });
  const how = signal ?? `exit code ${exitCode}`;
  return new GeodeError('agent_failed', `${program} ended (${how}) without an answer: ${words}`);
}

/** A command of the agent may also have used up the memory. */
function outOfMemory(program: string, memoryBytes: number | null): GeodeError {
  const limit = memoryBytes === null ? '' : ` (limit ${Math.round(memoryBytes / 1024 ** 2)} MB)`;
  return new GeodeError('agent_failed', `${program} ended: its sandbox is out of memory${limit}.`, {
    hint: 'Raise it with `agents.memory` in the config, and begin in a new chat: a sandbox keeps the limit that it was made with.',
  });
}
