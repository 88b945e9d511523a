/** Draws bench/results/runs.json as docs/runs.svg, and brings the targets in docs/runs.md up to it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { replacePart } from './documents.ts';
import { targetsMarkdown } from './report.ts';
import { atLeast, atMost } from './section.ts';
import { flatShare, trendOf } from './trend.ts';

const time = z.object({ p50: z.number() });
const { languages, burst, memory } = z
  .object({
    languages: z.array(
      z.object({
        language: z.string(),
        dockerRunMs: time,
        coldMs: time,
        poolMs: time,
        poolTimesFaster: z.number(),
        coldToDockerRun: z.number(),
      }),
    ),
    burst: z.object({
      runs: z.number(),
      atOnce: z.number(),
      dockerRunPerSecond: z.number(),
      fullPoolPerSecond: z.number(),
      fullPoolTimesFaster: z.number(),
      fullPoolUntilGonePerSecond: z.number(),
      smallPoolPerSecond: z.number(),
    }),
    memory: z
      .object({
        runtime: z.string(),
        runs: z.number(),
        every: z.number(),
        rssBytes: z.array(z.number()).min(2),
        heapBytes: z.array(z.number()).min(2),
        held: z.array(z.object({ objects: z.number(), descriptors: z.number() })).min(2),
      })
      .optional(),
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
      { label: 'from a full pool: results', value: burst.fullPoolPerSecond, unit: '/s', ours: true },
      { label: '… until all are removed', value: burst.fullPoolUntilGonePerSecond, unit: '/s', ours: true },
      {
        label: `pool of ${burst.atOnce}, refilled`,
        value: burst.smallPoolPerSecond,
        unit: '/s',
        ours: true,
      },
    ],
  ],
];

const [width, labelWidth, barWidth, line] = [720, 190, 420, 24];
const [ourColour, otherColour] = ['#6d4fc2', '#9aa0a6'];
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
      `<rect x="${labelWidth}" y="${y - 13}" width="${length.toFixed(1)}" height="16" fill="${ours ? ourColour : otherColour}"/>`,
      `<text x="${(labelWidth + length + 8).toFixed(1)}" y="${y}">${value.toFixed(1)} ${unit}</text>`,
    ].join('');
  });
  y += line / 2;
  return [heading, ...drawn];
});
if (memory !== undefined) parts.push(...drawMemory(memory));

/** A line over the runs, on a scale that begins at nothing. */
function drawMemory({ runtime, runs, rssBytes }: NonNullable<typeof memory>): readonly string[] {
  const height = 80;
  const most = Math.max(...rssBytes);
  y += line;
  const heading = `<text x="10" y="${y}" font-weight="bold">memory of the host over ${runs} runs in ${runtime}</text>`;
  y += height + line / 2;
  const points = rssBytes.map((bytes, index) => {
    const x = labelWidth + (index / (rssBytes.length - 1)) * barWidth;
    return `${x.toFixed(1)},${(y - (bytes / most) * height).toFixed(1)}`;
  });
  const [first = 0, last = 0] = [rssBytes[0], rssBytes.at(-1)];
  return [
    heading,
    `<line x1="${labelWidth}" y1="${y}" x2="${labelWidth + barWidth}" y2="${y}" stroke="${otherColour}"/>`,
    `<polyline points="${points.join(' ')}" fill="none" stroke="${ourColour}" stroke-width="2"/>`,
    `<text x="10" y="${y - height / 2}">${(first / 1e6).toFixed(0)} MB at first</text>`,
    `<text x="${labelWidth + barWidth + 8}" y="${y - height / 2}">${(last / 1e6).toFixed(0)} MB</text>`,
  ];
}

const svg = [
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + 10}" font-family="sans-serif" font-size="13">`,
  '<rect width="100%" height="100%" fill="white"/>',
  ...parts,
  '</svg>',
].join('\n');
writeFileSync(new URL('../docs/runs.svg', import.meta.url), `${svg}\n`);

/** How many times faster a run from the pool is to be. */
const wantedFromPool: Readonly<Record<string, number>> = { python: 15, javascript: 8 };
const mostPythonMs = 20;

const rounded = (value: number) => Number(value.toPrecision(3));
const targets = [
  ...languages.flatMap(({ language, poolMs, poolTimesFaster, coldToDockerRun }) => [
    ...(language === 'python'
      ? [atMost('python from the pool', mostPythonMs, 'ms', rounded(poolMs.p50))]
      : []),
    atLeast(
      `${language} from the pool against \`docker run --rm\``,
      wantedFromPool[language] ?? 1,
      '×',
      rounded(poolTimesFaster),
    ),
    atMost(`${language} without a pool, time against it`, 1.25, '×', rounded(coldToDockerRun)),
  ]),
  atLeast(
    `results of ${burst.runs} runs, ${burst.atOnce} at once, against it`,
    10,
    '×',
    rounded(burst.fullPoolTimesFaster),
  ),
];
const document = new URL('../docs/runs.md', import.meta.url);
const measured = [targetsMarkdown(targets), ...(memory === undefined ? [] : [memoryText(memory)])].join(
  '\n\n',
);
writeFileSync(document, replacePart(readFileSync(document, 'utf8'), 'runs', measured));

function memoryText({ runtime, runs, every, rssBytes, heapBytes, held }: NonNullable<typeof memory>): string {
  const row = (what: string, values: readonly number[], shown: (value: number) => string) => {
    const { perThousand, share, verdict } = trendOf(values, every);
    const [middle = 0, end = 0] = [values[Math.floor(values.length / 2)], values.at(-1)];
    const growth = `${shown(perThousand)} (${(share * 100).toFixed(2)} % over the half)`;
    return `| ${what} | ${shown(middle)} | ${shown(end)} | ${growth} | ${verdict === 'flat' ? 'flat' : '**grows**'} |`;
  };
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(2)} MB`;
  return [
    `The host over ${runs} runs in ${runtime}, looked at every ${every} runs after a collection. Growth is that of the line through the second half; below ${flatShare * 100} % over that half it is flat. V8's young generation is held at its smallest and malloc at one arena, since both grow by steps as they like and would hide a leak. Each look keeps one object of its own.`,
    '',
    '| | half-way | at the end | per 1,000 runs | |',
    '|---|---|---|---|---|',
    row('resident memory', rssBytes, megabytes),
    row('heap', heapBytes, megabytes),
    row(
      'live objects',
      held.map(({ objects }) => objects),
      (count) => count.toFixed(0),
    ),
    row(
      'open descriptors',
      held.map(({ descriptors }) => descriptors),
      (count) => count.toFixed(0),
    ),
  ].join('\n');
}
