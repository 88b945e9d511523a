/** Waiting times of a person at the dashboard, in Chromium, on a host with a long history. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { reasonForNoChromium } from '../../test/api/chromium.ts';
import { compare, contender, observed } from '../measure.ts';
import { atMost, type Bench, type Findings, nothingBecause, type Section, together } from '../section.ts';
import { whyNot } from '../spine/place.ts';
import {
  chatMessages,
  entryCount,
  everySecond,
  type FullHost,
  fullHost,
  inTurns,
  journalLines,
  main,
  runningCount,
  sandboxCount,
} from './full-host.ts';
import { shellEcho } from './shell-echo.ts';

const updatesPerSecond = 60;
const eventsOfAnHour = 3_600;
/** More than a page keeps of anything that comes in. */
const eventsUntilFull = 1_000;

export const dashboardSection: Section = {
  name: 'dashboard',
  title: 'The dashboard in Chromium',
  async run(bench) {
    const missing = whyNot(bench, 'bubblewrap') ?? (await reasonForNoChromium());
    if (missing) return nothingBecause(missing);
    await using host = await fullHost(bench.signal);
    return together(
      await views(bench, host),
      await terminal(bench, host),
      await typing(bench, host),
      await anHour(bench, host),
    );
  },
};

/** From the address to what the page is about, in a browser that has nothing of it yet. */
async function views(bench: Bench, { world, process }: FullHost): Promise<Findings> {
  const session = await (await world.open()).context().storageState();
  const shown: readonly (readonly [string, string, string])[] = [
    ['', 'Home', `document.querySelectorAll('main a[href^="#/sandboxes/"], main ol > li').length > 4`],
    ['sandboxes', `the list of ${sandboxCount} sandboxes`, `document.querySelectorAll('main li').length > 5`],
    [
      `sandboxes/${main}/processes/${process}`,
      `a journal of ${journalLines} lines`,
      `document.querySelector('main')?.textContent.includes('line ${journalLines} of')`,
    ],
    [
      'knowledge/memory',
      `memory with ${entryCount} entries`,
      `document.querySelectorAll('main li.card').length > 5`,
    ],
    [
      `chat/${main}`,
      `a chat of ${chatMessages} messages`,
      `document.querySelectorAll('main ol > li').length > 5`,
    ],
  ];
  const findings: Findings[] = [];
  for (const [path, name, isThere] of shown) {
    const samples: number[] = [];
    for (let round = 0; round < bench.rounds(7); round += 1) {
      bench.signal.throwIfAborted();
      const page = await world.openOutside({ storageState: session });
      await page.goto(`${world.url}/#/${path}`, { waitUntil: 'commit' });
      samples.push(await usable(page, isThere));
      await page.context().close();
    }
    const view = observed(`first view of ${name}`, 'ms', 'until it can be used', samples);
    findings.push({
      comparisons: [view],
      targets: [atMost(`first view of ${name}`, 1_000, 'ms', view.ours.p50)],
      leftOut: [],
    });
  }
  return together(...findings);
}

/** How old the page is when it shows something and a task that comes behind all others has run. */
function usable(page: Page, isThere: string): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => {
      if (${isThere}) setTimeout(() => resolve(performance.now()));
      else requestAnimationFrame(look);
    };
    look();
  })`);
}

/** A key until it is on the screen, against the same shell in a real terminal. */
async function terminal(bench: Bench, { world }: FullHost): Promise<Findings> {
  const page = await world.open();
  await page.goto(`${world.url}/#/sandboxes/${main}/terminal`);
  await page.getByRole('button', { name: 'New terminal' }).click();
  await usable(page, '/[$#]/.test(document.querySelector(".xterm-rows")?.textContent)');
  await page.locator('.xterm-screen').click();
  await page.evaluate(`window.echo = () => new Promise((resolve) => {
    const rows = document.querySelector('.xterm-rows');
    let pressed, before;
    addEventListener('keydown', () => {
      before = rows.textContent;
      pressed = performance.now();
    }, { capture: true, once: true });
    const watch = new MutationObserver(() => {
      // A change before the key is not its echo.
      if (pressed === undefined || rows.textContent === before) return;
      watch.disconnect();
      resolve(performance.now() - pressed);
    });
    watch.observe(rows, { subtree: true, childList: true, characterData: true });
  })`);
  await using shell = await shellEcho(main, world.env);
  let typed = 0;
  const ours = async () => {
    const echoed = page.evaluate<number>('window.echo()');
    // The page waits for the key before the key comes.
    await page.evaluate('0');
    await page.keyboard.press('x');
    const ms = await echoed;
    typed += 1;
    if (typed % 40 === 0) await page.keyboard.press('Control+u');
    return ms;
  };
  const echo = await compare(
    {
      name: 'a key until the terminal shows it',
      unit: 'ms',
      rounds: bench.rounds(100),
      ours: contender('dashboard', ours),
      others: [contender('`geode shell`', () => shell.press('x'))],
    },
    bench.signal,
  );
  await page.context().close();
  const over = echo.ours.p50 - (echo.others[0]?.p50 ?? 0);
  return {
    comparisons: [echo],
    targets: [atMost('a key in the terminal, over `geode shell`', 30, 'ms', Number(over.toFixed(1)))],
    leftOut: [],
  };
}

/** Keys until they are drawn, alone and while updates come in. */
async function typing(bench: Bench, { world }: FullHost): Promise<Findings> {
  const { client } = world;
  const page = await world.open();
  await page.goto(`${world.url}/#/knowledge/memory`);
  await page.getByRole('searchbox').first().click();
  await page.evaluate(`window.drawn = [];
    addEventListener('keydown', ({ timeStamp }) => requestAnimationFrame(() => setTimeout(() => drawn.push(performance.now() - timeStamp))), { capture: true })`);
  const seconds = Math.max(2, bench.rounds(10));
  const type = async (signal: AbortSignal) => {
    await page.evaluate('drawn.length = 0');
    for (let at = 0; !signal.aborted; at += 1) {
      await page.keyboard.press(at % 12 < 6 ? 'r' : 'Backspace');
      await delay(60);
    }
    return page.evaluate<number[]>('drawn');
  };
  const quiet = await type(AbortSignal.timeout(seconds * 1_000));
  const over = new AbortController();
  const busy = type(over.signal);
  await everySecond(updatesPerSecond, seconds, bench.signal, (at) =>
    client.ingest({
      id: `live/${at % 50}`,
      content: `Update ${at}`,
      category: 'project',
      source: 'bench',
    }),
  );
  over.abort();
  const under = observed('a key until it is drawn', 'ms', `${updatesPerSecond} updates a second`, await busy);
  await page.context().close();
  return {
    comparisons: [observed('a key until it is drawn', 'ms', 'nothing else happens', quiet), under],
    targets: [
      atMost(`a key is drawn while ${updatesPerSecond} updates a second come in`, 50, 'ms', under.ours.p50),
      atMost(`the same, the slowest of 100 keys`, 100, 'ms', under.ours.p99),
    ],
    leftOut: [],
  };
}

/** The memory of a page when it has all that it keeps, and after as many events as an hour may bring. */
async function anHour(bench: Bench, { world }: FullHost): Promise<Findings> {
  const { client } = world;
  const page = await world.open();
  await page.getByText('Connected', { exact: true }).first().waitFor();
  const wire = await page.context().newCDPSession(page);
  const heapMb = async () => {
    for (let turn = 0; turn < 3; turn += 1) await wire.send('HeapProfiler.collectGarbage');
    return (await wire.send('Runtime.getHeapUsage')).usedSize / 1e6;
  };
  const happen = async (count: number) => {
    await inTurns(count, bench.signal, (at) =>
      client.ingest({ id: `hour/${at % 50}`, content: `Event ${at}`, category: 'project', source: 'bench' }),
    );
    // All received data is drawn, and the requests that followed are answered.
    await page.waitForLoadState('networkidle');
    await delay(1_000, undefined, { signal: bench.signal });
  };
  await happen(eventsUntilFull);
  const before = await heapMb();
  await happen(eventsOfAnHour);
  const after = await heapMb();
  await page.context().close();
  const grown = Number(Math.max(0, after - before).toFixed(2));
  return {
    comparisons: [
      observed(`memory of a page after ${eventsUntilFull} events`, 'MB', `${runningCount} sandboxes run`, [
        before,
      ]),
      observed(`the same after ${eventsOfAnHour} more`, 'MB', `${runningCount} sandboxes run`, [after]),
    ],
    targets: [atMost('growth of a page over an hour of events', 1, 'MB', grown)],
    leftOut: [],
  };
}
