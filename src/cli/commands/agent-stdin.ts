import { z } from 'zod';
import { agentStdin } from '../../agents/sandboxed/program/agent-stdin.ts';
import { decimal } from '../../contract/decimal.ts';
import { type CliCommand, exitCodes } from '../command.ts';
import { parseValues } from '../input/values.ts';

export const agentStdinCommand: CliCommand = {
  name: 'agent-stdin',
  summary: 'Answer one request on stdin with the built-in agent',
  usage: '[--response-fd FD] [--events]',
  examples: [
    ['geode agent-stdin < request.json', 'prints the response between markers on stdout'],
    [
      'geode agent-stdin --response-fd 3 < request.json 3> response.json',
      'writes only the response to a file',
    ],
  ],
  options: {
    'response-fd': {
      type: 'string',
      value: 'FD',
      description: 'write the response to this descriptor instead, one line of JSON without markers',
    },
    events: { type: 'boolean', description: 'print each step on stdout as one line of JSON' },
  },
  async run(context) {
    const { streams, machine, cwd, err, signal } = context;
    const values = parseValues(agentStdinValues, context);
    const isSuccess = await agentStdin({
      stdin: streams.stdin,
      log: err,
      folder: cwd,
      variable: machine.variable,
      responseFd: values['response-fd'] ?? null,
      events: values.events,
      signal,
    });
    streams.stdin.destroy();
    return isSuccess ? exitCodes.done : exitCodes.failed;
  },
};

const agentStdinValues = z.object({
  'response-fd': decimal(z.number().int().min(1).max(255).optional()),
  events: z.boolean().default(false),
});
