import { isGeodeError } from '../../../base/errors.ts';
import type { RemoteSnapshots } from '../../../client/snapshots.ts';
import type { Change } from '../../../seams/snapshots.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { wrongUsage } from '../../input/values.ts';
import { printable, printableLine } from '../../render/printable.ts';
import { newestOf } from '../../snapshots.ts';

const letters = { added: 'A', removed: 'D', modified: 'M', mode: 'm', type: 'T' } as const;
const colours = {
  added: 'green',
  removed: 'red',
  modified: 'yellow',
  mode: 'yellow',
  type: 'yellow',
} as const;

export const sandboxDiffCommand: CliCommand = {
  name: 'sandbox diff',
  summary: 'Show which files changed since a snapshot',
  usage: '[OPTION …] [USER/]CHAT [FROM [TO]]',
  examples: [
    [
      'geode sandbox diff demo',
      'compares with the newest snapshot: A added, D removed, M modified, m mode, T type',
    ],
    ['geode sandbox diff --text demo before', 'shows changed lines; the name undo means the last undo point'],
    ['geode sandbox diff demo before after', 'compares two snapshots'],
  ],
  options: {
    ...hostingOptions,
    text: { type: 'boolean', short: 't', description: 'show changed lines' },
  },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const [word, since, to, ...more] = positionals;
    if (word === undefined || more.length > 0)
      throw wrongUsage('Give one [USER/]CHAT, and at most FROM and TO');
    await using host = await connectHost(context, { reads: true });
    const chat = await host.chat(word);
    return await chat.within(async ({ snapshots }) => {
      const from = since ?? (await newestOf(snapshots));
      // Read all changes first: other requests about this snapshot would wait for the end of the stream.
      const changes: Change[] = [];
      for await (const change of snapshots.diff(from, { to, signal })) changes.push(change);
      if (json) out(JSON.stringify({ from, to: to ?? null, changes }));
      else if (values.text !== true) for (const change of changes) out(lineOf(change, context));
      else for (const change of changes) await showText(snapshots, change, { from, to }, context);
      return exitCodes.done;
    });
  },
};

function lineOf({ change, path }: Change, { paint }: CliContext): string {
  return paint(colours[change], `${letters[change]} ${printableLine(path)}`);
}

const unshown = ['too_large', 'not_a_file', 'file_not_found', 'file_refused'] as const;

async function showText(
  snapshots: RemoteSnapshots,
  change: Change,
  { from, to }: { readonly from: string; readonly to: string | undefined },
  context: CliContext,
): Promise<void> {
  const { out, signal } = context;
  const isFile = change.before?.type === 'file' || change.after?.type === 'file';
  try {
    const text = isFile ? await snapshots.textDiff(change, from, { to, signal }) : '';
    if (text === '') out(lineOf(change, context));
    else for (const line of text.trimEnd().split('\n')) out(coloured(printable(line), context));
  } catch (error) {
    // For a file that is too large, not text or already removed, show only that it changed.
    if (!unshown.some((code) => isGeodeError(error, code))) throw error;
    out(lineOf(change, context));
  }
}

function coloured(line: string, { paint }: CliContext): string {
  if (line.startsWith('+')) return paint('green', line);
  return line.startsWith('-') ? paint('red', line) : line;
}
