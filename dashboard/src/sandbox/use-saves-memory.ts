import { useQuery } from '@tanstack/react-query';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';

/** Whether the runtime of this sandbox saves memory: then it has checkpoints, live forks and hibernation. */
export function useSavesMemory({ runtime }: Pick<SandboxStatus, 'runtime'>): boolean {
  const runtimes = useQuery({ queryKey: ['runtimes'], queryFn: () => client.runtimes() });
  const found = runtimes.data?.find(({ name }) => name === runtime);
  return found?.available === true && found.capabilities.checkpoints;
}
