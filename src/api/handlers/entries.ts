/** Entries of the caller's memory. */

import { GeodeError } from '../../base/errors.ts';
import type { entries } from '../../contract/memory.ts';
import type { InputOf } from '../../contract/types.ts';
import type { Filter, Fusion, Paging } from '../../seams/memory.ts';
import { recallBlock } from '../../solve/recall-block.ts';
import { Answered, type Handlers } from '../serve.ts';
import { newEntry, shownEntry, shownStored, shownVersion } from './entry.ts';
import { batchesOf, entriesOf, storeMany } from './store-many.ts';

export const entryHandlers: Handlers<typeof entries> = {
  async search({ q, tokens, ...asked }, { memory, left }) {
    const startMs = performance.now();
    const answer = await memory.recall(
      { text: q, ...filterOf(asked), fusion: fusionOf(asked) },
      { signal: left },
    );
    const found = answer.results.map(({ entry }) => entry);
    return {
      results: answer.results.map(({ entry, score, why }) => ({ ...shownEntry(entry), score, why })),
      total: answer.total,
      totalIs: answer.totalIs,
      degraded: answer.degraded.map(({ half }) => half),
      queryTimeMs: performance.now() - startMs,
      ...(tokens !== undefined && { block: recallBlock([], found, tokens).text }),
    };
  },
  ingest: async (asked, { memory, left }) =>
    shownStored(await memory.store(newEntry(asked), { signal: left })),
  bulk({ entries: asked }, call) {
    const given = asked.map(newEntry);
    return storeMany(call, batchesOf(given), given.length);
  },
  files({ file, tag = [], category, prefix = '' }, call) {
    const sent = [file].flat();
    const found = entriesOf(sent, { prefix, category, tags: [tag].flat() }, call.left);
    return storeMany(call, found, sent.length);
  },
  async categories(_, { memory }) {
    const categories = [...(await memory.count())].map(([name, count]) => ({ name, count }));
    return { categories, total: categories.reduce((sum, { count }) => sum + count, 0) };
  },
  async audit(_, { memory, left }) {
    const { findings, ...facts } = await memory.audit({ signal: left });
    return { findings: findings.map(({ keys, ...finding }) => ({ ...finding, ids: keys })), ...facts };
  },
  async list(asked, { memory }) {
    const page = await memory.list(filterOf(asked));
    return { entries: page.entries.map(shownEntry), total: page.total };
  },
  async get({ id, versions }, { memory }) {
    const entry = await memory.get(id);
    if (!entry) throw new GeodeError('entry_not_found', `There is no entry ${JSON.stringify(id)}`);
    if (!versions) return shownEntry(entry);
    return { ...shownEntry(entry), versions: (await memory.history(id)).map(shownVersion) };
  },
  async put(asked, { memory, left }) {
    const stored = await memory.store(newEntry(asked), { signal: left });
    return new Answered(stored.outcome === 'created' ? 201 : 200, shownStored(stored));
  },
  async remove({ id }, { memory }) {
    if (await memory.forget(id)) return;
    throw new GeodeError('entry_not_found', `There is no entry ${JSON.stringify(id)}`);
  },
};

type Asked = InputOf<typeof entries.list>;

function filterOf({ category, tag, source, strict, limit, offset }: Asked): Filter & Paging {
  return {
    strict,
    limit,
    offset,
    ...(category !== undefined && { category }),
    ...(tag && { tags: tag }),
    ...(source !== undefined && { source }),
  };
}

function fusionOf({ fusion, dense }: Pick<InputOf<typeof entries.search>, 'fusion' | 'dense'>): Fusion {
  return fusion === 'rrf' ? { kind: 'rrf' } : { kind: 'weighted', ...(dense !== undefined && { dense }) };
}
