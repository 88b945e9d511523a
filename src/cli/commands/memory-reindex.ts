import type { CliCommand } from '../command.ts';
import { openLocalMemory } from '../open-memory.ts';
import { showProgress } from '../progress.ts';

export const command: CliCommand = {
  name: 'memory reindex',
  summary: 'Embed and index everything again, after a change of model or a repair',
  examples: ['geode memory reindex'],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    await using local = await openLocalMemory(context);
    const progress = showProgress('Indexing:');
    let done = 0;
    for await (const step of local.store.reindex({ signal })) {
      done = step.done;
      progress.update(step.done, step.total);
    }
    progress.end();
    await local.store.settled({ signal });
    out(json ? JSON.stringify({ indexed: done }) : `Indexed ${done} entries.`);
    return 0;
  },
};
