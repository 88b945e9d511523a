/** Draws bench/results/runs.json as docs/runs.svg. */
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';

const time = z.object({ p50: z.number() });
const { languages, burst } = z
  .object({
    languages: z.array(z.object({ language: z.string(), dockerRunMs: time, coldMs: time, poolMs: time })),
    burst: z.object({
      runs: z.number(),
      atOnce: z.number(),
      dockerRunPerSecond: z.number(),
      fullPoolPerSecond: z.number(),
    }),
  })
  .parse(JSON.parse(readFileSync(new URL('results/runs.json', import.meta.url), 'utf8')));

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly unit: string;
  readonly ours: boolean;
}

const groups: readonly (readonly [title: string, bars: readonly Bar[]])[] = [
  ...languages.map(
    ({ language, dockerRunMs, coldMs, poolMs }) =>
      [
        `${language}: time until the result, less is better`,
        [
          { label: 'docker run --rm', value: dockerRunMs.p50, unit: 'ms', ours: false },
          { label: 'geode, cold', value: coldMs.p50, unit: 'ms', ours: true },
          { label: 'geode, from the pool', value: poolMs.p50, unit: 'ms', ours: true },
        ],
      ] as const,
  ),
  [
    `${burst.runs} runs, ${burst.atOnce} at once: runs a second, more is better`,
    [
      { label: 'docker run --rm', value: burst.dockerRunPerSecond, unit: '/s', ours: false },
      { label: 'geode, from a full pool', value: burst.fullPoolPerSecond, unit: '/s', ours: true },
    ],
  ],
];

const [width, labelWidth, barWidth, line] = [720, 170, 440, 24];
let y = 10;
const parts = groups.flatMap(([title, bars]) => {
  const most = Math.max(...bars.map(({ value }) => value));
  y += line;
  const heading = `<text x="10" y="${y}" font-weight="bold">${title}</text>`;
  const drawn = bars.map(({ label, value, unit, ours }) => {
    y += line;
    const length = Math.max((value / most) * barWidth, 2);
    return [
      `<text x="10" y="${y}">${label}</text>`,
      `<rect x="${labelWidth}" y="${y - 13}" width="${length.toFixed(1)}" height="16" fill="${ours ? '#6d4fc2' : '#9aa0a6'}"/>`,
      `<text x="${(labelWidth + length + 8).toFixed(1)}" y="${y}">${value.toFixed(1)} ${unit}</text>`,
    ].join('');
  });
  y += line / 2;
  return [heading, ...drawn];
});
const svg = [
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + 10}" font-family="sans-serif" font-size="13">`,
  '<rect width="100%" height="100%" fill="white"/>',
  ...parts,
  '</svg>',
].join('\n');
writeFileSync(new URL('../docs/runs.svg', import.meta.url), `${svg}\n`);
