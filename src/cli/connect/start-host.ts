import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, renameSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type Cancel, within } from '../../base/cancel.ts';
import { errorCatalogue } from '../../base/error-catalogue.ts';
import { type ErrorCode, GeodeError } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import { text } from '../command.ts';
import type { Reaching } from './reach-host.ts';
import { reachSettings } from './reach-settings.ts';

const geode = fileURLToPath(new URL('../../../bin/geode.js', import.meta.url));
const startDeadlineMs = 60_000;
const mostWordsBytes = 1024 * 1024;

export interface StartHostOptions extends Cancel {
  readonly waitMs: number;
  readonly takeOver: boolean;
}

/**
 * Starts a host in the background, with the settings of this command, and waits until it serves. It outlives this
 * command, and ends by itself when nobody has needed it for a while. Why there can be none is thrown.
 */
export async function startHost(
  context: Reaching,
  { waitMs, takeOver, signal }: StartHostOptions,
): Promise<void> {
  const { stateDir, linger } = await reachSettings(context);
  const file = text(context.values, 'config') ?? context.machine.overrides.GEODE_CONFIG;
  const args = [
    ...['host', '--json', '--linger', `${linger}s`, '--wait', String(waitMs / 1000)],
    ...(takeOver ? ['--take-over'] : []),
    ...(file === undefined ? [] : ['--config', resolve(context.cwd, file)]),
  ];
  const words = openWords(join(stateDir, 'host.words'));
  const child = spawn(process.execPath, [geode, ...args], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', words],
  });
  closeSync(words);
  const deadline = { ms: startDeadlineMs + waitMs, what: 'Starting the host of the sandboxes', signal };
  try {
    checkAnswer(await within(deadline, () => firstLine(child)));
  } catch (error) {
    // A host that failed to start serving is useless; it may have exited already.
    child.kill('SIGKILL');
    throw error;
  } finally {
    child.stdout?.destroy();
    child.unref();
  }
}

/** The log file of a host in the background. Hosts that fail to start do not rotate it, so this does too. */
function openWords(path: string): number {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > mostWordsBytes) renameSync(path, `${path}.1`);
  return openSync(path, 'a', 0o600);
}

/** Empty when it ended without a word. */
function firstLine({ stdout }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let output = '';
    stdout?.setEncoding('utf8').on('data', (piece: string) => {
      output += piece;
      if (output.includes('\n')) resolve(output);
    });
    stdout?.once('close', () => resolve(output));
  });
}

const answerSchema = z.union([
  z.object({ pid: z.number() }),
  z.object({
    error: z.string(),
    code: z.custom<ErrorCode>((code) => typeof code === 'string' && code in errorCatalogue),
    hint: z.string(),
    details: z.record(z.string(), z.unknown()).default({}),
  }),
]);

function checkAnswer(output: string): void {
  const answer = answerSchema.safeParse(parsedJson(output)).data;
  if (answer === undefined) {
    throw new GeodeError('internal', 'The host of the sandboxes could not be started.', {
      hint: 'See its output in the file host.words of the state folder, or run geode host to see it here.',
    });
  }
  if ('error' in answer) throw new GeodeError(answer.code, answer.error, answer);
}
