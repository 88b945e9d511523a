import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { z } from 'zod';
import type { EngineFacts } from '../test/engine/index.ts';
import { dockerCliVersion } from './spine/docker-cli.ts';

export const machineSchema = z.object({
  cores: z.number(),
  processor: z.string(),
  memoryGb: z.number(),
  kernel: z.string(),
  node: z.string(),
  docker: z.string(),
  dockerCli: z.string(),
});
export type Machine = z.infer<typeof machineSchema>;

/** Facts that influence a measurement; nothing that identifies the machine. */
export async function thisMachine({ docker }: EngineFacts): Promise<Machine> {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    kernel: release(),
    node: process.versions.node,
    docker: docker.available ? docker.version : 'none',
    dockerCli: (await dockerCliVersion()) ?? 'none',
  };
}
