/** Commands of a chat, as `/help` lists them. */
export const slashCommands: readonly (readonly [command: string, help: string])[] = [
  ['/status', 'show the running turn, the queue and the cost'],
  ['/stop', 'stop the agent'],
  ['/new', 'start a new conversation; the files stay'],
  ['/undo', 'undo the last change of the files'],
  ['/model', 'show or change the model'],
  ['/file', 'send a file from the workspace'],
  ['/schedule', 'send a message at set times'],
  ['/steer', 'add messages during a run to it'],
  ['/help', 'show all commands'],
];

export function matchingCommands(words: string): typeof slashCommands {
  if (!/^\/\w*$/.test(words)) return [];
  return slashCommands.filter(([command]) => command.startsWith(words));
}
