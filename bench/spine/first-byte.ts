import type { Sandbox } from '../../src/seams/sandbox.ts';
import { type Contender, compare, contender } from '../measure.ts';
import { atMost, type Section } from '../section.ts';
import { type Argv, apiExec, dockerExec, plainProcess } from './contenders.ts';
import { inDocker } from './docker-room.ts';
import type { Timing } from './local-process.ts';

const greeting = ['echo', 'here'] as const;
const firstByte = ({ firstByteMs }: Timing) => firstByteMs;

export const firstByteSection: Section = {
  name: 'first-byte',
  title: 'The first byte of output',
  run: (bench) =>
    inDocker(bench, 'docker', async ({ sandbox, cli, api }) => {
      const comparison = await compare(
        {
          name: 'first byte of `echo` in docker',
          unit: 'ms',
          rounds: bench.rounds(60),
          ours: sandboxFirstByte(sandbox, greeting),
          others: [
            dockerExec(cli, sandbox, greeting, firstByte),
            apiExec(api, sandbox, greeting, firstByte),
            plainProcess(bench, greeting, firstByte),
          ],
        },
        bench.signal,
      );
      return {
        comparisons: [comparison],
        targets: [atMost('first byte', 5, 'ms', comparison.ours.p50)],
        leftOut: [],
      };
    }),
};

/** From the call of `spawn` to the first event of stdout; the rest is read and not counted. */
function sandboxFirstByte(sandbox: Sandbox, argv: Argv): Contender {
  return contender('Geode', async () => {
    const began = performance.now();
    let firstByteMs = Number.NaN;
    for await (const event of await sandbox.spawn({ argv })) {
      if (event.type === 'stdout' && Number.isNaN(firstByteMs)) firstByteMs = performance.now() - began;
    }
    return firstByteMs;
  });
}
