/** Commands in the sandbox of a chat. */
import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';
import { chat, outputLimitBytes, timeoutSeconds } from './inputs.ts';

const exec = defineTool({
  name: 'exec',
  title: 'Run a command in a sandbox',
  description:
    'Runs a shell command in the sandbox of a chat and waits for its end. A stopped sandbox is started. A non-zero exit code is an answer, not an error. Returns at most the first 100,000 bytes of stdout and of stderr.',
  effect: 'destroys',
  input: z.strictObject({
    chat,
    command: z.string().min(1).describe('For /bin/sh: `npm test 2>&1 | tail -50`.'),
    cwd: z.string().optional().describe('Working folder; default: the workspace.'),
    env: z.record(z.string(), z.string()).optional(),
    stdin: z.string().optional(),
    timeout_seconds: timeoutSeconds,
  }),
  async run({ chat: name, command, cwd, env, stdin, timeout_seconds }, { client, signal }) {
    const { bytes: _, ...result } = await client.sandboxes.of(name).exec(
      {
        argv: ['/bin/sh', '-c', command],
        timeoutMs: timeout_seconds * 1000,
        ...(cwd !== undefined && { cwd }),
        ...(env && { env }),
        ...(stdin !== undefined && { stdin }),
      },
      { outputLimitBytes, signal },
    );
    return result;
  },
});

export const execTools: readonly Tool[] = [exec];
