import { auditOf, wireAudit } from '../../../contract/memory-values.ts';
import type { Audit } from '../../../seams/memory.ts';
import { type CliCommand, type CliContext, exitCodes } from '../../command.ts';
import { askRunningHost } from '../../connect/running-api.ts';
import { memoryOptions, namespaceOf } from '../../input/memory-options.ts';
import { placeValues } from '../../input/memory-values.ts';
import { parseValues } from '../../input/values.ts';
import { renderAudit } from '../../render/render-audit.ts';

export const memoryAuditCommand: CliCommand = {
  name: 'memory audit',
  summary: 'Find secrets, contradictions, duplicates, unused entries',
  usage: '',
  examples: [
    ['geode memory audit', 'the findings, each with the command that removes it; changes nothing'],
    ['geode memory audit --json', 'the same for a script'],
  ],
  options: memoryOptions,
  async run(context) {
    const audit = await auditOfMemory(parseValues(placeValues, context), context);
    context.out(context.json ? JSON.stringify(wireAudit(audit)) : renderAudit(audit));
    return exitCodes.done;
  },
};

async function auditOfMemory(
  place: { readonly user: string; readonly chat?: string | undefined },
  context: CliContext,
): Promise<Audit> {
  const { user, chat } = place;
  const { signal } = context;
  const asked = await askRunningHost(context, user, (host) =>
    host.audit({ ...(chat !== undefined && { chat }), signal }),
  );
  if (asked !== undefined) return auditOf(asked.answer);
  const { openMemoryToSearch } = await import('../../connect/local-memory.ts');
  await using local = await openMemoryToSearch(context);
  return await local.store.in(namespaceOf(place)).audit({ signal });
}
