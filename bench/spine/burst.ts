import { type Contender, compare, contender, type LeftOut, millisecondsOf } from '../measure.ts';
import type { Bench, Section } from '../section.ts';
import { apiExec, dockerExec, sandboxExec } from './contenders.ts';
import { inDocker } from './docker-room.ts';

const execs = 200;
const atOnce = 16;
const nothing = ['true'] as const;

export const burstSection: Section = {
  name: 'burst',
  title: `${execs} commands, ${atOnce} at a time`,
  run: (bench) =>
    inDocker(bench, 'docker', async ({ sandbox, cli, api }) => {
      const comparison = await compare(
        {
          name: `${execs} × \`true\` in docker, ${atOnce} at a time`,
          unit: 'execs/s',
          rounds: bench.rounds(3),
          ours: inBursts(bench, sandboxExec(sandbox, nothing)),
          others: [
            inBursts(bench, dockerExec(cli, sandbox, nothing)),
            inBursts(bench, apiExec(api, sandbox, nothing)),
          ],
        },
        bench.signal,
      );
      return { comparisons: [comparison], targets: [], leftOut: [] };
    }),
};

function inBursts<Other extends Contender | LeftOut>(bench: Bench, one: Other): Contender | Other {
  if (!('sample' in one)) return one;
  const burst = async () => {
    let started = 0;
    const worker = async () => {
      while (started < execs) {
        started += 1;
        bench.signal.throwIfAborted();
        await one.sample();
      }
    };
    const elapsed = await millisecondsOf(() => Promise.all(Array.from({ length: atOnce }, worker)));
    return execs / (elapsed / 1000);
  };
  return contender(one.name, burst, () => one.sample());
}
