import { useQuery } from '@tanstack/react-query';
import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { useModel } from '../use-model.ts';
import { isChannelSkipped } from './setup.ts';

export const setupSteps = ['sandbox', 'code', 'model', 'hello', 'channel'] as const;
export type SetupStep = (typeof setupSteps)[number];

export interface Setup {
  readonly isKnown: boolean;
  readonly done: number;
  readonly all: number;
  /** The result of each step that is done; missing: still to do. */
  readonly results: Readonly<Partial<Record<SetupStep, string>>>;
}

/** How far the first use has come, by what exists on the host. */
export function useSetup(): Setup {
  const sandboxes = useQuery({ queryKey: ['sandboxes'], queryFn: () => client.sandboxes.list() });
  const runs = useQuery({ queryKey: ['runs', 'recent'], queryFn: () => client.runs.list({ limit: 12 }) });
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => client.agents.list() });
  const channels = useQuery({ queryKey: ['channels'], queryFn: connectedChannels });
  const model = useModel();
  const spoken = agents.data?.find(({ turns }) => turns > 0);
  const [sandbox] = sandboxes.data ?? [];
  const names = (channels.data ?? []).join(', ');
  const results: Partial<Record<SetupStep, string>> = {
    ...(sandbox !== undefined && { sandbox: sandbox.chat }),
    ...((runs.data ?? []).length > 0 && { code: '' }),
    ...(model !== undefined && { model }),
    ...(spoken !== undefined && { hello: spoken.chat, model: model ?? spoken.model ?? spoken.driver }),
    ...(names !== '' ? { channel: names } : isChannelSkipped() && { channel: '' }),
  };
  return {
    isKnown: [sandboxes, runs, agents].every(({ data, error }) => data !== undefined || error !== null),
    done: Object.keys(results).length,
    all: setupSteps.length,
    results,
  };
}

/** The browser's own channel is always there. */
async function connectedChannels(): Promise<readonly string[]> {
  try {
    const all = await client.chats.channels();
    return all.map(({ channel }) => channel).filter((channel) => channel !== 'web');
  } catch (error) {
    if (isGeodeError(error, 'route_not_found')) return [];
    throw error;
  }
}
