/** Words of questions that wait. */

export const approvals = {
  none: 'Nothing waits for you',
  noneHow: 'Agents and sandboxes ask here before they do something that no rule allows.',
  before: 'Decided before',
  choices: {
    tool: {
      'allow-once': 'Allow once',
      'allow-session': 'Allow for this sandbox',
      'allow-always': 'Allow always',
      deny: 'Deny',
    },
    egress: {
      'allow-once': 'Allow once',
      'allow-session': 'For this sandbox',
      'allow-always': 'Always',
      deny: 'Deny',
    },
  },
  anHour: '1 hour',
  done: {
    'allow-once': 'Allowed once',
    'allow-session': 'Allowed for this sandbox',
    'allow-always': 'Allowed always',
    deny: 'Denied',
  },
  by: 'by',
  deciders: { socket: 'you, in a terminal', key: 'you, with an API key', session: 'you' },
  expired: (after: string) => `Expired after ${after}, so it was denied`,
  withdrawn: 'Withdrawn, the request ended',
  late: 'This was decided elsewhere a moment ago.',
  asksYou: 'The agent asks you',
  runsCommand: 'The agent asks to run a command',
  usesTool: (tool: string) => `The agent asks to use ${tool}`,
  waitsForHost: 'A program waits to reach a host',
  all: 'The whole request',
  where: 'In',
  answer: 'Answer',
  ownAnswer: 'Or write an answer',
} as const;

export const notify = {
  button: 'Notify me',
  asks: (chat: string) => `${chat} asks for your decision`,
  finished: (chat: string) => `The agent in ${chat} has finished`,
} as const;
