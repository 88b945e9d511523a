import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { reasonOf } from '../../../base/errors.ts';
import { chatClient } from '../../chat-client.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { chatOptions } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';

export const sandboxOpenCommand: CliCommand = {
  name: 'sandbox open',
  summary: 'Open a port of a sandbox at a local URL',
  usage: '[OPTION …] [USER/]CHAT PORT',
  examples: [
    ['geode sandbox open demo 8000', 'prints a URL that works until the sandbox stops'],
    [
      'geode sandbox open --path demo 8000',
      'uses a path instead of a host name; pages get no origin or cookies',
    ],
    ['geode sandbox open --browser demo 8000', 'also opens the URL in your browser'],
  ],
  options: {
    ...chatOptions,
    path: {
      type: 'boolean',
      description: 'use a path instead of a name below localhost (for tunnels and some browsers)',
    },
    browser: { type: 'boolean', short: 'b', description: "open the URL in this machine's browser" },
  },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const [word, given = '', ...more] = positionals;
    const port = /^\d{1,5}$/.test(given) ? Number(given) : 0;
    if (word === undefined || more.length > 0 || port < 1 || port > 65_535)
      throw wrongUsage('Give one [USER/]CHAT and one PORT, from 1 to 65535');
    const chat = await chatClient(word, context);
    const form = values.path === true ? 'path' : 'name';
    const url = await chat.ask((sandbox) => sandbox.preview(port, { form, signal }));
    out(json ? JSON.stringify({ port, url }) : url);
    if (values.browser === true) await openInBrowser(url, context);
    return exitCodes.done;
  },
};

/** Opens the URL in a browser. Ignores a missing browser, because the URL is also printed. */
async function openInBrowser(url: string, { machine, err }: CliContext): Promise<void> {
  const program = machine.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [url], { stdio: 'ignore', detached: true });
  try {
    await once(child, 'spawn');
    child.unref();
  } catch (error) {
    err(`geode: no browser could be opened: ${reasonOf(error)}`);
  }
}
