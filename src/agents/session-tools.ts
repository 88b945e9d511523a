import type { ServedToolSession, ToolSessions } from '../seams/tools.ts';
import type { DriverTurn } from './driver.ts';

/** Tools that reveal what the user told in private; memory entries are also resources. */
const remembering = /^(memory_|solve|(list_resources|read_resource)$)/;

/** The host's tools for a program that runs a turn. In a group, without the tools that reveal private content. */
export async function openSessionTools(
  tools: ToolSessions | undefined,
  { sandbox, audience, signal }: Pick<DriverTurn, 'sandbox' | 'audience' | 'signal'>,
): Promise<ServedToolSession | undefined> {
  if (tools === undefined || audience === 'private') return tools?.open(sandbox, { signal });
  return tools.open(sandbox, { signal, tools: tools.initial.filter((name) => !remembering.test(name)) });
}
