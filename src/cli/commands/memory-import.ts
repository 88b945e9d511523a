import { z } from 'zod';
import { GeodeError, isGeodeError } from '../../core/errors.ts';
import type { NewEntry } from '../../core/memory.ts';
import { type CliCommand, parseValues } from '../command.ts';
import { findFiles, readFileEntry, readLines } from '../import-files.ts';
import { userOption, userValues } from '../memory-options.ts';
import { openLocalMemory } from '../open-memory.ts';

export const command: CliCommand = {
  name: 'memory import',
  summary: 'Store files and folders (text, Markdown, code, HTML, PDF), or the lines of an export',
  examples: ['geode memory import docs/ README.md -c project -t docs', 'geode memory import memory.ndjson'],
  positionals: '<path…>',
  options: {
    ...userOption,
    category: { type: 'string', short: 'c', description: 'The category of the files; project by default' },
    tag: { type: 'string', short: 't', multiple: true, description: 'A tag for each file; repeatable' },
    prefix: { type: 'string', description: 'Put before each path to make the id' },
  },
  async run(context) {
    const { values, positionals, json, out, signal } = context;
    const { user, ...facts } = parseValues(importValues, values);
    if (positionals.length === 0) throw new GeodeError('invalid_input', 'Give at least one file or folder');
    await using local = await openLocalMemory(context);
    const memory = local.store.in(user);
    const outcomes = { created: 0, updated: 0, merged: 0 };
    const skipped: string[] = [];
    const keep = async (entries: readonly NewEntry[]) => {
      for (const { outcome } of await memory.storeMany(entries, { signal })) outcomes[outcome] += 1;
    };
    for await (const file of findFiles(positionals)) {
      signal.throwIfAborted();
      if (/\.(ndjson|jsonl)$/i.test(file.path)) {
        for await (const batch of readLines(file.path)) await keep(batch);
        continue;
      }
      try {
        await keep([await readFileEntry(file.path, facts, { signal })]);
      } catch (thrown) {
        // A folder may hold pictures; a file that was named is meant.
        if (file.named || !isGeodeError(thrown, 'unreadable_file')) throw thrown;
        skipped.push(file.path);
      }
    }
    const { created, updated, merged } = outcomes;
    const summary = `${created} created, ${updated} updated, ${merged} merged`;
    const left = skipped.map((path) => `\nskipped ${path}: no text in it`).join('');
    out(json ? JSON.stringify({ ...outcomes, skipped }) : summary + left);
    return 0;
  },
};

const importValues = userValues.extend({
  category: z.string().default('project'),
  tag: z.array(z.string()).default([]),
  prefix: z.string().default(''),
});
