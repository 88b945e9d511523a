/** Commands whose output has no other form: why --json changes nothing but their errors. */
export const withoutJson: Readonly<Record<string, string>> = {
  'agent-stdin': 'answers in JSON by a protocol of its own: between markers, or to a descriptor',
  mcp: 'speaks MCP on stdout, which is JSON already',
  'config edit': 'is an editor',
  shell: 'is a terminal',
  'memory export': 'writes a JSON object a line already',
};

/** Commands whose output has no end before they end: why they print one JSON value a line. */
export const linesOfJson: Readonly<Record<string, string>> = {
  agent: 'prints the events of a turn as they come',
  'agent log': 'prints the events of turns',
  'approvals watch': 'prints each approval as it comes',
  'chat export': 'prints what is kept record by record',
  'memory export': 'prints entry by entry',
  replay: 'prints what a replay does as it comes',
  repl: 'prints the result of each statement',
  run: 'prints the events of a run as they come',
  'sandbox logs': 'prints a line of a journal as it comes',
  solve: 'prints each attempt as it happens',
  'solve resume': 'prints each attempt as it happens',
};
