import { GeodeError } from '../../core/errors.ts';

/** What programs say of an option that they do not know: theirs is another version than the one that Geode speaks to. */
const unknownOption = /unknown option|unexpected argument|unrecognized (option|argument)|unknown argument/i;

/** The error for a program of an agent that ended before it answered, with its own words. */
export function endedEarly(program: string, how: string, stderr: string): GeodeError {
  const words = stderr.slice(-1000).trim();
  if (!unknownOption.test(words))
    return new GeodeError('agent_failed', `${program} ended (${how}) without an answer: ${words}`);
  return new GeodeError('agent_unavailable', `${program} is of a version that is not supported: ${words}`, {
    hint: 'Use the version of the image for agents: build it with `geode image build agent`, or install what images/agent/package.json names, and begin in a new chat.',
  });
}
