/** Words of the webhooks in Settings. */
export const webhooks = {
  title: 'Webhooks',
  none: 'No webhook yet',
  noneHow: 'A webhook calls a server of yours when a sandbox starts, pauses, stops or is removed.',
  on: 'on',
  off: 'off',
  waiting: (calls: number) => `${calls} waiting`,
  calls: 'Calls',
  noCalls: 'No calls yet.',
  attempts: (times: number) => (times === 1 ? '1 attempt' : `${times} attempts`),
  add: 'Add a webhook',
  name: 'Name: a-z, 0-9 and "-"',
  url: 'URL',
  secret: (value: string) => `The secret that signs each call, shown once: ${value}`,
  known: (name: string) => `Each call is signed with the secret ${name}.`,
  remove: 'Remove',
  states: { waiting: 'waiting', delivered: 'delivered', failed: 'failed' },
};
