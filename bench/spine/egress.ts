import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { z } from 'zod';
import type { EgressSpec } from '../../src/seams/egress.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { allowing, hatchOf, specOf, toHere } from '../../test/egress/hatch-fixture.ts';
import { type Comparison, compare, contender, type LeftOut, observed } from '../measure.ts';
import { atLeast, atMost, type Bench, type Findings, type Section, together } from '../section.ts';
import {
  type Client,
  clientInside,
  clientOnHost,
  type Ports,
  startServer,
  startTinyproxy,
} from './egress-programs.ts';
import { openPlace, whyNot } from './place.ts';

/** The name under which a sandbox reaches the server; the fixture resolves it to this machine. */
const name = 'bench.test';
const downloadBytes = 128 * 1024 ** 2;
const atOnce = 200;
const shareBytes = 512 * 1024;
const idleTunnels = 1_500;
const cutTunnels = 200;

const one = z.number();
const two = z.tuple([z.number(), z.number()]);

export const egressSection: Section = {
  name: 'egress',
  title: 'Reaching what is allowed, from a sandbox without a network',
  async run(bench) {
    const parts: Findings[] = [];
    for (const place of ['docker', 'bubblewrap'] as const) {
      const missing = whyNot(bench, place);
      parts.push(
        missing === undefined
          ? await from(bench, place)
          : { comparisons: [], targets: [], leftOut: [missing] },
      );
    }
    return together(...parts);
  },
};

/** The ways to the same server: through the hatch, alone, and behind a common proxy. */
interface Ways {
  readonly hatch: Client;
  readonly direct: Client;
  readonly tinyproxy: Client | LeftOut;
  /** The model's answer: the binding in the sandbox, and the upstream of the host. */
  readonly modelUrls: { readonly bound: string; readonly direct: string };
}

async function from(bench: Bench, placeName: 'docker' | 'bubblewrap'): Promise<Findings> {
  await using opened = new AsyncDisposableStack();
  const server = opened.use(await startServer());
  const place = opened.use(await openPlace(bench, placeName));
  const sandbox = await place.open();
  const { hatch } = await hatchOf(sandbox, specFor(server), undefined, {
    bindings: { secret: () => undefined, refusal: () => undefined, onUsage: () => {} },
  });
  opened.use(hatch);
  const port = String(server.bytes);
  const proxy = await startTinyproxy();
  if ('address' in proxy) opened.use(proxy);
  const ways: Ways = {
    hatch: opened.use(await clientInside(sandbox, hatch.env, [name, port, 'variable'])),
    direct: opened.use(clientOnHost(['127.0.0.1', port, 'none'])),
    tinyproxy: 'address' in proxy ? opened.use(clientOnHost(['127.0.0.1', port, proxy.address])) : proxy,
    modelUrls: {
      bound: `${hatch.env.OPENAI_BASE_URL}/chat/completions`,
      direct: `http://127.0.0.1:${server.model}/v1/chat/completions`,
    },
  };
  return together(
    await setUp(bench, placeName, ways),
    await oneStream(bench, placeName, ways),
    await manyAtOnce(bench, placeName, ways),
    await modelStream(bench, placeName, ways),
    await cutting(bench, placeName, ways.hatch, async () => {
      await hatch.change(specOf({ mode: 'deny-all', allow: [], deny: [] }));
      return () => hatch.change(specFor(server));
    }),
    await idle(bench, placeName, ways.hatch, sandbox),
  );
}

function specFor({ bytes, model }: Ports): EgressSpec {
  return {
    ...allowing(toHere(name, bytes)),
    bindings: [{ name: 'openai-compatible', upstream: `http://127.0.0.1:${model}/v1` }],
  };
}

async function setUp(bench: Bench, place: string, ways: Ways): Promise<Findings> {
  const comparison = await compared(bench, ways, {
    name: `a connection and its first byte, from ${place}`,
    unit: 'ms',
    rounds: bench.rounds(300),
    sample: (client) => client.ask('connect', one),
  });
  return found(
    [comparison],
    [atMost(`connection from ${place}, above direct`, 3, 'ms', aboveDirect(comparison))],
  );
}

async function oneStream(bench: Bench, place: string, ways: Ways): Promise<Findings> {
  const comparison = await compared(bench, ways, {
    name: `${downloadBytes / 1024 ** 2} MB over one connection, to ${place}`,
    unit: 'MB/s',
    rounds: bench.rounds(8),
    sample: async (client) => rate(downloadBytes, await client.ask(`download ${downloadBytes}`, one)),
  });
  return found([comparison], [atLeast(`one stream to ${place}`, 300, 'MB/s', comparison.ours.p50)]);
}

async function manyAtOnce(bench: Bench, place: string, ways: Ways): Promise<Findings> {
  const unfair: number[] = [];
  const comparison = await compared(bench, ways, {
    name: `the slowest of ${atOnce} connections at once with ${shareBytes / 1024} kB each, to ${place}`,
    unit: 'ms',
    rounds: bench.rounds(8),
    async sample(client) {
      const [middle, slowest] = await client.ask(`many ${atOnce} ${shareBytes}`, two);
      if (client === ways.hatch) unfair.push(slowest / middle);
      return slowest;
    },
  });
  const worst = Number(Math.max(...unfair).toPrecision(3));
  return found(
    [comparison],
    [atMost(`slowest of ${atOnce} connections from ${place}, by the one in the middle`, 3, '×', worst)],
  );
}

async function modelStream(
  bench: Bench,
  place: string,
  { hatch, direct, modelUrls }: Ways,
): Promise<Findings> {
  const measured = async (part: 0 | 1, what: string) =>
    compare(
      {
        name: `${what} of a model's streamed answer, by a binding from ${place}`,
        unit: 'ms',
        rounds: bench.rounds(200),
        ours: contender('Geode', async () => (await hatch.ask(`stream ${modelUrls.bound}`, two))[part]),
        others: [
          contender('direct', async () => (await direct.ask(`stream ${modelUrls.direct}`, two))[part]),
        ],
      },
      bench.signal,
    );
  const first = await measured(0, 'the first byte');
  const last = await measured(1, 'the last of 200 events');
  return found(
    [first, last],
    [atMost(`first byte of a model from ${place}, above direct`, 2, 'ms', aboveDirect(first))],
  );
}

/** From the change of the policy until the program in the sandbox has seen every connection closed. */
async function cutting(
  bench: Bench,
  place: string,
  hatch: Client,
  cut: () => Promise<() => Promise<void>>,
): Promise<Findings> {
  const took: number[] = [];
  for (let round = 0; round < bench.rounds(10); round += 1) {
    bench.signal.throwIfAborted();
    await hatch.ask(`hold ${cutTunnels}`, one);
    const allCut = hatch.ask('await-cut', one);
    const began = performance.now();
    const undo = await cut();
    await allCut;
    took.push(performance.now() - began);
    await undo();
  }
  return found(
    [observed(`${cutTunnels} open connections cut by a change of the policy, ${place}`, 'ms', 'Geode', took)],
    [],
  );
}

/** The first tunnels are not counted: they bring what is needed once. */
async function idle(bench: Bench, place: string, hatch: Client, sandbox: Sandbox): Promise<Findings> {
  await hatch.ask(`hold ${idleTunnels}`, one);
  await hatch.ask('release', one);
  const onHost: number[] = [];
  const inGuest: number[] = [];
  for (let round = 0; round < bench.rounds(3); round += 1) {
    bench.signal.throwIfAborted();
    const before = [residentAfterCollection(), (await sandbox.metrics()).guestRssBytes] as const;
    await hatch.ask(`hold ${idleTunnels}`, one);
    const after = [residentAfterCollection(), (await sandbox.metrics()).guestRssBytes] as const;
    onHost.push(kilobytesEach(before[0], after[0]));
    inGuest.push(kilobytesEach(before[1], after[1]));
    await hatch.ask('release', one);
  }
  const host = observed(`an idle connection of ${idleTunnels}, on the host, ${place}`, 'kB', 'Geode', onHost);
  const guest = observed(`the same, in the guest, ${place}`, 'kB', 'Geode', inGuest);
  return found(
    [host, guest],
    [atMost(`idle connection from ${place}, on the host`, 40, 'kB', host.ours.p50)],
  );
}

interface Question {
  readonly name: string;
  readonly unit: 'ms' | 'MB/s';
  readonly rounds: number;
  sample(client: Client): Promise<number>;
}

function compared(
  { signal }: Bench,
  ways: Ways,
  { name, unit, rounds, sample }: Question,
): Promise<Comparison> {
  const { hatch, direct, tinyproxy } = ways;
  return compare(
    {
      name,
      unit,
      rounds,
      ours: contender('Geode', () => sample(hatch)),
      others: [
        contender('direct', () => sample(direct)),
        'ask' in tinyproxy ? contender('tinyproxy', () => sample(tinyproxy)) : tinyproxy,
      ],
    },
    signal,
  );
}

function aboveDirect({ ours, others }: Comparison): number {
  const direct = others.find(({ name: other }) => other === 'direct');
  return Number((ours.p50 - (direct?.p50 ?? Number.NaN)).toPrecision(4));
}

function rate(bytes: number, ms: number): number {
  return bytes / 1e6 / (ms / 1000);
}

function found(comparisons: Findings['comparisons'], targets: Findings['targets']): Findings {
  return { comparisons, targets, leftOut: [] };
}

/** Of this process, where the host's end of every connection is. */
function residentAfterCollection(): number {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
  return process.memoryUsage.rss();
}

function kilobytesEach(before: number, after: number): number {
  return Math.max(0, (after - before) / idleTunnels / 1000);
}
