import { isUtf8 } from 'node:buffer';
import { toWire } from '../../../contract/names.ts';
import { execResultSchema, execSchema, type WireExecResult } from '../../../contract/processes.ts';
import { chatParams } from '../../../contract/sandboxes.ts';
import type { ExecResult } from '../../../core/process.ts';
import { withoutValues } from '../../../journals/redacted.ts';
import { signalOf } from '../../events.ts';
import { requireScope } from '../../guards/auth.ts';
import {
  bodyRefusals,
  defineRoute,
  json,
  jsonBody,
  limitCommandBody,
  sandboxRefusals,
  security,
} from '../../route.ts';
import { startedSandbox } from '../../sandbox-of.ts';
import { commandOf, markBefore } from './command.ts';

export const exec = defineRoute(
  {
    method: 'post',
    path: '/api/v1/sandboxes/{chat}/exec',
    summary: 'Run a command and wait for its end',
    description:
      'A command that fails is a result. A caller that leaves ends the command and everything that it started.',
    tags: ['processes'],
    security,
    middleware: [requireScope('sandboxes:write'), limitCommandBody],
    request: { params: chatParams, body: jsonBody('The command.', execSchema) },
    responses: { 200: json('How it ended.', execResultSchema), ...sandboxRefusals, ...bodyRefusals },
  },
  async (context) => {
    const { output_limit_bytes, ...wire } = context.req.valid('json');
    const sandbox = await startedSandbox(context, context.req.valid('param').chat);
    const signal = signalOf(context);
    await markBefore(sandbox, wire.undoable, signal);
    const result = await sandbox.exec(commandOf(wire), {
      ...(output_limit_bytes !== undefined && { outputLimitBytes: output_limit_bytes }),
      signal,
    });
    return context.json(wireResult(withoutValues(result, context.var.secretValues())), 200);
  },
);

/** Text, and the bytes beside it where the text is not all of them. */
function wireResult({ bytes, ...result }: ExecResult): WireExecResult {
  return {
    ...toWire(result),
    ...(!isUtf8(bytes.stdout) && { stdout_base64: Buffer.from(bytes.stdout).toString('base64') }),
    ...(!isUtf8(bytes.stderr) && { stderr_base64: Buffer.from(bytes.stderr).toString('base64') }),
  };
}
