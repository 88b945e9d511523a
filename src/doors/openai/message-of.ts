/** The message for the agent: what the client said after the newest answer, and for a new chat what came before. */
import { GeodeError } from '../../base/errors.ts';
import type { AgentMessage } from '../../seams/agent.ts';
import type { Said } from './asked.ts';
import { filesOf, textOf } from './content.ts';
import { plainText } from './tool-card.ts';

/** Maximum characters of a history that the house does not have; the oldest are left out. */
const longestHistory = 100_000;

export function messageOf(
  said: readonly Said[],
  { isNew, mark }: { readonly isNew: boolean; readonly mark: string },
): AgentMessage {
  const spoken = said.filter(({ role }) => role !== 'system');
  const at = spoken.findLastIndex(({ role }) => role === 'assistant') + 1;
  const newest = spoken.slice(at);
  if (newest.length === 0)
    throw new GeodeError('invalid_input', 'The last message must be from the user.', {
      details: { param: 'messages' },
    });
  const asked = newest.map(({ content }) => textOf(content)).join('\n\n');
  const before = isNew ? [instructionsIn(said), historyIn(spoken.slice(0, at))] : [];
  const attachments = newest.flatMap(({ content }) => filesOf(content));
  return { text: [...before, asked].filter((part) => part !== '').join('\n\n'), attachments, mark };
}

function instructionsIn(said: readonly Said[]): string {
  const texts = said.filter(({ role }) => role === 'system').map(({ content }) => textOf(content));
  return texts.length === 0 ? '' : `Instructions of the client:\n${texts.join('\n\n')}`;
}

function historyIn(spoken: readonly Said[]): string {
  const lines = spoken.map(({ role, content }) => `${role}: ${plainText(textOf(content))}`).join('\n\n');
  return lines === '' ? '' : `Earlier in this conversation:\n${lines.slice(-longestHistory)}`;
}
