import { GeodeError } from '../base/errors.ts';

export function busy(chat: string): GeodeError {
  return new GeodeError('agent_busy', `A turn of the chat ${JSON.stringify(chat)} is still running.`);
}

export function usedAtTerminal(chat: string): GeodeError {
  return new GeodeError(
    'agent_busy',
    `The agent of the chat ${JSON.stringify(chat)} is in use at a terminal.`,
    { hint: `Return to it with \`geode claude --chat ${chat}\`; /exit there ends it.` },
  );
}
