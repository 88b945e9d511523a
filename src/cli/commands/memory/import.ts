import { z } from 'zod';
import { isGeodeError } from '../../../base/errors.ts';
import { checkUser } from '../../../base/identity.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { finishIndexing, openSearchableMemory } from '../../connect/local-memory.ts';
import { findFiles, readFileEntry, readLines } from '../../input/import-files.ts';
import { userOption } from '../../input/memory-options.ts';
import { userValues } from '../../input/memory-values.ts';
import { parseValues, somePositionals } from '../../input/values.ts';
import type { Line } from '../../render/kept-lines.ts';

export const memoryImportCommand: CliCommand = {
  name: 'memory import',
  summary: 'Import files, folders or an export',
  usage: 'PATH …',
  examples: [
    ['geode memory import docs/ README.md -t docs', 'text, Markdown, code, HTML and PDF'],
    ['geode memory import memory.ndjson', 'the output of `memory export`'],
  ],
  options: {
    ...userOption,
    category: {
      type: 'string',
      value: 'NAME',
      short: 'c',
      description: 'category of the files (default: project)',
    },
    tag: {
      type: 'string',
      value: 'TAG',
      short: 't',
      multiple: true,
      description: 'a tag for each file; repeatable',
    },
    prefix: { type: 'string', description: 'text before each path in the ids' },
  },
  async run(context) {
    const { json, out, signal } = context;
    const paths = somePositionals(context, 'file or folder');
    const { user, ...facts } = parseValues(importValues, context);
    await using local = await openSearchableMemory(context);
    const { extractText } = await context.geode();
    const memory = local.store.in(checkUser(user));
    const outcomes = { created: 0, updated: 0, merged: 0 };
    const skipped: string[] = [];
    const keep = async (lines: readonly Line[]) => {
      const kept = lines.flatMap((line) => (line.kind === 'kept' ? [line.entry] : []));
      const fresh = lines.flatMap((line) => (line.kind === 'new' ? [line.entry] : []));
      const stored = [
        ...(await memory.restore(kept, { signal })),
        ...(await memory.storeMany(fresh, { signal })),
      ];
      for (const { outcome } of stored) outcomes[outcome] += 1;
    };
    for await (const file of findFiles(paths)) {
      if (/\.(ndjson|jsonl)$/i.test(file.path)) {
        for await (const batch of readLines(file.path)) await keep(batch);
        continue;
      }
      try {
        const entry = await readFileEntry(file.path, facts, extractText, { signal });
        await keep([{ kind: 'new', entry }]);
      } catch (thrown) {
        // A folder may hold pictures; a file that was named is meant.
        if (file.named || !isGeodeError(thrown, 'unreadable_file')) throw thrown;
        skipped.push(file.path);
      }
    }
    await finishIndexing(local, context);
    const { created, updated, merged } = outcomes;
    const summary = `${created} created, ${updated} updated, ${merged} merged`;
    const left = skipped.map((path) => `\nskipped ${path}: no text in it`).join('');
    out(json ? JSON.stringify({ ...outcomes, skipped }) : summary + left);
    return exitCodes.done;
  },
};

const importValues = userValues.extend({
  category: z.string().default('project'),
  tag: z.array(z.string()).default([]),
  prefix: z.string().default(''),
});
