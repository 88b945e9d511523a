import { type CliCommand, exitCodes } from '../../command.ts';
import { openSearchableMemory } from '../../connect/local-memory.ts';
import { showProgress } from '../../render/progress.ts';

export const memoryReindexCommand: CliCommand = {
  name: 'memory reindex',
  summary: 'Embed and index all entries again',
  usage: '',
  examples: [['geode memory reindex', 'needed after a change of the embedding model']],
  options: {},
  async run(context) {
    const { json, out, signal } = context;
    await using local = await openSearchableMemory(context);
    const progress = showProgress('Indexing:');
    let done = 0;
    for await (const step of local.store.reindex({ signal })) {
      done = step.done;
      progress.update(step.done, step.total);
    }
    progress.end();
    await local.store.settled({ signal });
    out(json ? JSON.stringify({ indexed: done }) : `Indexed ${done} entries.`);
    return exitCodes.done;
  },
};
