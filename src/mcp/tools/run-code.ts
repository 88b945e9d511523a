import { z } from 'zod';
import { cut, defineTool } from '../tool.ts';
import { outputLimitBytes, timeoutSeconds } from './inputs.ts';

export const runCode = defineTool({
  name: 'run_code',
  title: 'Run code',
  description:
    'Runs a program in a fresh sandbox without a network and returns its output and exit code. Nothing is kept. For variables between runs open a context; for files that stay use a sandbox.',
  effect: 'changes',
  input: z.strictObject({
    language: z.string().describe('python, javascript, typescript, shell, go or rust.'),
    code: z.string().min(1).max(1_000_000),
    stdin: z.string().optional(),
    files: z.record(z.string(), z.string()).optional().describe('Text by path, next to the code.'),
    timeout_seconds: timeoutSeconds,
  }),
  async run({ language, code, stdin, files, timeout_seconds }, { client, signal }) {
    const { bytes: _, ...result } = await client.runs.run(code, language, {
      timeoutMs: timeout_seconds * 1000,
      outputLimitBytes,
      ...(stdin !== undefined && { stdin }),
      ...(files && { files }),
      signal,
    });
    const { outcome, success, exitCode, signal: killedBy, timedOut, oomKilled } = result;
    const { stdout, stderr, truncated, durationMs, sandbox, denied } = result;
    const compiler = result.compile && {
      stdout: cut(result.compile.stdout, outputLimitBytes),
      stderr: cut(result.compile.stderr, outputLimitBytes),
    };
    return {
      ...{ outcome, success, exitCode, signal: killedBy, timedOut, oomKilled, stdout, stderr, truncated },
      ...{ compiler, durationMs, sandbox, denied },
    };
  },
});
