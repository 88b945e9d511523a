import { basename } from 'node:path';
import { z } from 'zod';
import { driverName } from '../../../config/driver-name.ts';
import { type CliCommand, type CliContext, texts } from '../../command.ts';
import { readGiven } from '../../input/read-given.ts';
import { parseValues, wrongUsage } from '../../input/values.ts';
import { showAgent } from '../../render/show-agent.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const agentCommand: CliCommand = {
  name: 'agent',
  summary: 'Send a message to an agent that works in a sandbox',
  usage: '-m MESSAGE [OPTION …]',
  examples: [
    ['geode agent -m "write fizzbuzz in Python and run it"', 'in the chat called agent'],
    ['geode agent --chat demo -m "and now in Go"', 'continues another conversation'],
    ['geode agent --chat demo --file data.csv -m "what is in it?"', 'with a file'],
  ],
  options: {
    message: { type: 'string', short: 'm', value: 'TEXT', description: 'the message; - reads it from stdin' },
    chat: { type: 'string', value: 'CHAT', description: 'the conversation and its sandbox (default: agent)' },
    driver: {
      type: 'string',
      value: 'NAME',
      description: 'the agent of a new conversation: builtin, claude, codex or acp:NAME',
    },
    model: {
      type: 'string',
      value: 'NAME',
      description: 'the model of a new conversation (default: the configured one)',
    },
    file: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'PATH',
      description: 'a file for the agent; may be repeated',
    },
    quiet: { type: 'boolean', short: 'q', description: 'print only the answer' },
    ...forUserOption,
  },
  async run(context) {
    const { chat = 'agent', driver, model } = parseValues(values, context);
    const message = await messageFrom(context);
    const client = userClient(context);
    const { signal } = context;
    const events = client.agents.send(chat, message, { driver, model, signal });
    try {
      return await showAgent(events, context);
    } catch (error) {
      // Ctrl-C stops the agent, not only this reader.
      if (signal.aborted) await client.agents.interrupt(chat).catch(() => {});
      throw error;
    }
  },
};

const values = z.object({
  chat: z.string().min(1).optional(),
  driver: driverName.optional(),
  model: z.string().min(1).optional(),
});

async function messageFrom(context: CliContext) {
  const given = z.object({ message: z.string().optional() }).parse(context.values).message;
  const text = given === '-' ? await stdinText(context) : (given ?? context.positionals.join(' '));
  if (text.trim() === '') throw wrongUsage('geode agent needs a message: -m "…"');
  const attachments = await Promise.all(
    texts(context.values, 'file').map(async (path) => ({
      name: basename(path),
      bytes: await readGiven(path, context.cwd),
    })),
  );
  return { text, attachments };
}

async function stdinText({ streams }: CliContext): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of streams.stdin) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces).toString();
}
