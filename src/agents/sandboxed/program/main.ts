/** The program that runs in a sandbox: one file, built from this one by scripts/build-agent.ts. */
import { parseArgs } from 'node:util';
import { thisMachine } from '../../../machine/machine.ts';
import { agentStdin } from './agent-stdin.ts';
import { agentVersion } from './version.ts';

const { values } = parseArgs({
  options: {
    version: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    'response-fd': { type: 'string' },
    /** Shown in the list of processes. */
    request: { type: 'string' },
  },
});
if (values.version) console.log(agentVersion);
else {
  // Output of libraries goes to stderr, like the log.
  console.log = console.info = console.debug = console.error;
  const fd = values['response-fd'];
  const isSuccess = await agentStdin({
    stdin: process.stdin,
    log: (line) => console.error(line),
    folder: process.cwd(),
    variable: thisMachine().variable,
    responseFd: fd === undefined ? null : Number(fd),
    events: values.events,
    signal: new AbortController().signal,
  });
  process.exit(isSuccess ? 0 : 1);
}
