/** Tries another version before anything is switched to it: on a copy of the state, and in a scratch home. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Cancel } from '../../base/cancel.ts';
import { throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import { parsedJson } from '../../base/json.ts';
import type { Config } from '../../config/schema.ts';
import type { Machine } from '../../machine/machine.ts';
import type { MachineCheck } from '../../seams/doctor.ts';
import { canaryChat, openCanaryHome } from './canary-home.ts';
import { startCanaryModel } from './canary-model.ts';
import { runVersion } from './run-version.ts';
import type { InstalledVersion } from './versions.ts';

/** Checks of a backup that decide; the others are advice of doctor about this machine. */
const deciding = ['backup', 'sandboxes', 'secrets', 'memory', 'canary'];

const checksSchema = z.array(
  z.object({
    name: z.string(),
    state: z.enum(['ok', 'warning', 'problem']),
    found: z.string(),
  }),
);

export interface TrialBackup extends Cancel {
  readonly file: string;
  readonly passphraseFile?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * A version restores the backup into a scratch folder, where it brings the copy of the state up to date and looks at
 * it. Throws `upgrade_failed` with every check that failed.
 */
export async function tryBackup(
  version: InstalledVersion,
  { file, passphraseFile, env, signal }: TrialBackup,
): Promise<readonly MachineCheck[]> {
  const passphrase = passphraseFile === undefined ? [] : ['--passphrase-file', passphraseFile];
  // Exit code 1 stands for any problem, also one of doctor; which one it is, the checks say.
  const output = await runVersion(version, ['backup', 'verify', file, '--json', ...passphrase], {
    env,
    accepts: [0, 1],
    signal,
  });
  const checks = checksSchema.safeParse(parsedJson(output)).data;
  if (checks === undefined) throw failed(version, `backup verify: ${output.slice(0, 300)}`);
  const decided = checks.filter(({ name }) => deciding.includes(name));
  const bad = decided.filter(({ state }) => state === 'problem');
  if (bad.length > 0) throw failed(version, bad.map(({ name, found }) => `${name}: ${found}`).join('; '));
  return decided;
}

export interface TrialOptions extends Cancel {
  readonly from: InstalledVersion;
  readonly to: InstalledVersion;
  readonly config: Config;
  readonly machine: Machine;
}

/**
 * The old version makes a sandbox, and the new one adopts it; both run code, search and answer with a model of this
 * machine. Throws `upgrade_failed` for what only the new one cannot do.
 */
export async function tryCanary({
  from,
  to,
  config,
  machine,
  signal,
}: TrialOptions): Promise<readonly MachineCheck[]> {
  const word = `canary-${randomUUID().slice(0, 8)}`;
  await using model = await startCanaryModel(word);
  const { folder: parent } = config.backup;
  const versions = [from, to];
  await using home = await openCanaryHome({ parent, config, machine, modelUrl: model.url, versions });
  const { env } = home;
  const before = (args: readonly string[]) => runVersion(from, args, { env, signal });
  await before(['sandbox', 'create', canaryChat]);
  await before(['sandbox', 'exec', canaryChat, '--', 'sh', '-c', `echo ${word} > word`]);
  await before(['memory', 'add', `The word of the trial is ${word}.`]);
  const old = await walk(from, word, { env, signal });
  await before(['host', 'stop']);
  const { id } = await canarySandbox(from, env, signal);
  const fresh = await walk(to, word, { env, signal });
  const adopted = await canarySandbox(to, env, signal);
  if (adopted.id !== id || adopted.state !== 'running')
    throw failed(to, `the sandbox of Geode ${from.version} is ${adopted.state} afterwards`);
  const broken = fresh.filter(({ name, error }) => error !== undefined && isFine(old, name));
  if (broken.length > 0) throw failed(to, broken.map(({ name, error }) => `${name}: ${error}`).join('; '));
  return fresh.map(({ name, error }) =>
    error === undefined
      ? { name, state: 'ok', found: `works with Geode ${to.version}` }
      : {
          name,
          state: 'warning',
          found: `works neither with Geode ${from.version} nor with ${to.version}: ${error}`,
        },
  );
}

interface Step {
  readonly name: string;
  readonly error: string | undefined;
}

const isFine = (steps: readonly Step[], name: string) =>
  steps.some((step) => step.name === name && step.error === undefined);

/** Each part that people use, once. */
async function walk(
  version: InstalledVersion,
  word: string,
  options: Parameters<typeof runVersion>[2],
): Promise<readonly Step[]> {
  const parts: Readonly<Record<string, readonly string[]>> = {
    exec: ['sandbox', 'exec', canaryChat, '--', 'cat', 'word'],
    run: ['run', '-q', 'shell', '-c', `echo ${word}`],
    search: ['memory', 'search', word],
    agent: ['agent', '-q', '--chat', canaryChat, '-m', 'hello'],
  };
  const steps: Step[] = [];
  for (const [name, args] of Object.entries(parts)) {
    throwIfCancelled(options.signal, 'The trial');
    try {
      const output = await runVersion(version, args, options);
      const error = output.includes(word) ? undefined : `it answered ${JSON.stringify(output.slice(0, 200))}`;
      steps.push({ name, error });
    } catch (error) {
      steps.push({ name, error: reasonOf(error) });
    }
  }
  return steps;
}

async function canarySandbox(
  version: InstalledVersion,
  env: TrialBackup['env'],
  signal: AbortSignal | undefined,
): Promise<ListedSandbox> {
  const found = (await sandboxesOf(version, { env, signal })).find(({ chat }) => chat === canaryChat);
  return found ?? { id: '', user: '', chat: canaryChat, state: 'gone' };
}

const listSchema = z.object({
  sandboxes: z.array(z.object({ id: z.string(), user: z.string(), chat: z.string(), state: z.string() })),
});
export type ListedSandbox = z.infer<typeof listSchema>['sandboxes'][number];

/** All sandboxes, as a version lists them. */
export async function sandboxesOf(
  version: InstalledVersion,
  options: Parameters<typeof runVersion>[2],
): Promise<readonly ListedSandbox[]> {
  const listed = listSchema.safeParse(
    parsedJson(await runVersion(version, ['sandbox', 'ls', '--json'], options)),
  );
  if (listed.success) return listed.data.sandboxes;
  throw failed(version, 'its list of sandboxes cannot be read');
}

function failed(version: InstalledVersion, reason: string): GeodeError {
  return new GeodeError(
    'upgrade_failed',
    `Geode ${version.version} does not work here: ${reason.replace(/\.$/, '')}.`,
  );
}
