import { GeodeError, isGeodeError } from '../../../base/errors.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { askRunningHost } from '../../connect/running-api.ts';
import { memoryOptions, namespaceOf } from '../../input/memory-options.ts';
import { placeValues } from '../../input/memory-values.ts';
import { parseValues, somePositionals } from '../../input/values.ts';

export const memoryRmCommand: CliCommand = {
  name: 'memory rm',
  summary: 'Delete entries and their versions',
  usage: 'ID …',
  examples: [['geode memory rm notes/deploy', 'deletes it permanently']],
  options: memoryOptions,
  async run(context) {
    const { json, out } = context;
    const ids = somePositionals(context, 'id');
    const place = parseValues(placeValues, context);
    const removed: string[] = [];
    const unknown: string[] = [];
    for (const id of ids) ((await forget(id, place, context)) ? removed : unknown).push(id);
    if (json) out(JSON.stringify({ removed, unknown }));
    else for (const id of removed) out(`removed ${id}`);
    if (unknown.length === 0) return exitCodes.done;
    if (json) return exitCodes.failed;
    throw new GeodeError('entry_not_found', `There is no entry ${unknown.join(', ')}`);
  },
};

/** True only if it was there. */
async function forget(
  id: string,
  place: { readonly user: string; readonly chat?: string | undefined },
  context: CliContext,
): Promise<boolean> {
  const { user, chat } = place;
  const asked = await askRunningHost(context, user, (host) =>
    host.remove(id, { ...(chat !== undefined && { chat }), signal: context.signal }).then(
      () => true,
      (error: unknown) => {
        if (isGeodeError(error, 'entry_not_found')) return false;
        throw error;
      },
    ),
  );
  if (asked !== undefined) return asked.answer;
  const { openLocalMemory } = await import('../../connect/local-memory.ts');
  await using local = await openLocalMemory(context);
  return await local.store.in(namespaceOf(place)).forget(id);
}
