/** Words of a conversation, beside those in `text.chat`. */
export const talk = {
  denyWhy: 'Deny and say why',
  why: 'Why not',
  whyHint: 'The agent reads it before its next step',
  context: (tokens: string) => `${tokens} tokens`,
  contextHow: 'Tokens that the agent read in its last step',
  contextNow: 'Context now',
  forkHere: 'Fork before this message',
  forkHow: 'The new chat has the conversation and the files of now. Both go their own way.',
  forkHereHow:
    'The new chat has what came before this message, with the files of that time. The message waits in its composer.',
  forkName: 'Name of the new chat',
  linkTo: 'Link to this message',
  added: (lines: number) => `+${lines}`,
  removed: (lines: number) => `−${lines}`,
};
