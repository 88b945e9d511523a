import { type Comparison, compare } from '../measure.ts';
import type { Section } from '../section.ts';
import { dockerExec, plainProcess, sandboxExec } from './contenders.ts';
import { inDocker } from './docker-room.ts';

const sizes = { '1 kB': 1e3, '10 kB': 1e4, '100 kB': 1e5, '1 MB': 1e6, '10 MB': 1e7 } as const;

export const outputSection: Section = {
  name: 'output',
  title: 'How the cost of a command grows with its output',
  run: (bench) =>
    inDocker(bench, 'docker', async ({ sandbox, cli }) => {
      const comparisons: Comparison[] = [];
      for (const [size, bytes] of Object.entries(sizes)) {
        const argv = ['head', '-c', String(bytes), '/dev/zero'] as const;
        comparisons.push(
          await compare(
            {
              name: `${size} of output in docker`,
              unit: 'ms',
              rounds: bench.rounds(20),
              ours: sandboxExec(sandbox, argv, bytes),
              others: [dockerExec(cli, sandbox, argv), plainProcess(bench, argv)],
            },
            bench.signal,
          ),
        );
      }
      return { comparisons, targets: [], leftOut: [] };
    }),
};
