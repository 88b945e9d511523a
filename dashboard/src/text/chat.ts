/** Words of a conversation, beside those in `text.chat`. */
export const talk = {
  denyWhy: 'Deny and say why',
  why: 'Why not',
  whyHint: 'The agent reads it before its next step',
  context: (tokens: string) => `${tokens} tokens`,
  contextHow: 'Tokens that the agent read in its last step',
  contextNow: 'Context now',
  linkTo: 'Link to this message',
  added: (lines: number) => `+${lines}`,
  removed: (lines: number) => `−${lines}`,
};
