import type { ServedToolSession, ToolSessions } from '../seams/tools.ts';
import type { DriverTurn } from './driver.ts';

/** Tools that know what the user told in private; entries of memory are resources too. */
const remembering = /^(memory_|solve|(list_resources|read_resource)$)/;

/** The host's tools for a program that leads a turn; in a group, none that know what is not for the group. */
export async function openSessionTools(
  tools: ToolSessions | undefined,
  { sandbox, audience, signal }: Pick<DriverTurn, 'sandbox' | 'audience' | 'signal'>,
): Promise<ServedToolSession | undefined> {
  if (tools === undefined || audience === 'private') return tools?.open(sandbox, { signal });
  return tools.open(sandbox, { signal, tools: tools.initial.filter((name) => !remembering.test(name)) });
}
