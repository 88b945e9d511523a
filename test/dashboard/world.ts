/** A real gateway in a process of its own, which can be killed, and pages of it in Chromium. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { z } from 'zod';
import { createClient, type GeodeClient } from '../../src/client/client.ts';
import { launchChromium } from '../api/chromium.ts';
import { geodeProgram } from '../cli/sandbox-home.ts';
import { freePort } from '../free-port.ts';
import { hostWorld } from '../host/world.ts';

/** A loaded machine with two cores is slow to start a browser and to draw. */
export const waitMs = 90_000;

const greetingSchema = z.object({ url: z.string(), key: z.string().nullable(), dashboard: z.string() });

export interface DashboardWorld extends AsyncDisposable {
  readonly url: string;
  /** For commands on the same machine. */
  readonly env: Readonly<Record<string, string>>;
  readonly client: GeodeClient;
  readonly browser: Browser;
  /** Problems of any page: script errors, breaches of the content policy, dialogs, other hosts. */
  readonly problems: string[];
  /** A page that has logged in. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** A page that has not; below another address where a proxy shows it there. */
  openOutside(options?: BrowserContextOptions, shownAt?: string): Promise<Page>;
  kill(): Promise<void>;
  /** Again, on the same port. */
  start(): Promise<void>;
}

export async function dashboardWorld(more: Readonly<Record<string, string>>): Promise<DashboardWorld> {
  await using opened = new AsyncDisposableStack();
  const world = opened.use(hostWorld(more));
  let gateway: ChildProcessWithoutNullStreams | undefined;
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const child = gateway;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const over = once(child, 'exit');
    child.kill(signal);
    await over;
  };
  opened.defer(async () => {
    await end('SIGTERM');
    // Blank sandboxes of the one that was killed.
    await using parts = await world.openParts();
    await parts.runs.reap();
  });
  const start = async (port: string) => {
    gateway = spawn(process.execPath, [geodeProgram, 'gateway', '--json', '--port', port], {
      env: world.env,
    });
    gateway.stderr.resume();
    for await (const line of createInterface({ input: gateway.stdout }))
      return greetingSchema.parse(JSON.parse(line));
    throw new Error('The gateway said nothing');
  };
  // Where another program cannot take it while the gateway is killed and started again.
  const { url, key } = await start(String(await freePort()));
  const client = createClient({ url, key: key ?? undefined });
  const browser = opened.use(await launchChromium());
  const problems: string[] = [];

  const openOutside = async (options: BrowserContextOptions = {}, shownAt = url) => {
    const context = await browser.newContext({ viewport: { width: 1200, height: 760 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(waitMs);
    page.on('pageerror', (thrown) => problems.push(thrown.message));
    page.on('dialog', (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      const asked = request.url();
      if (!asked.startsWith(shownAt) && !/^(data|blob):/.test(asked)) problems.push(`asked ${asked}`);
    });
    page.on('console', (message) => {
      // A host that was killed does not answer; a browser says so itself.
      const isRefusal = /Failed to load resource|ERR_CONNECTION|WebSocket connection/.test(message.text());
      if (message.type() === 'error' && !isRefusal) problems.push(message.text());
    });
    return page;
  };
  const held = opened.move();
  return {
    url,
    env: world.env,
    client,
    browser,
    problems,
    openOutside,
    async open(options) {
      const page = await openOutside(options);
      await page.goto((await client.loginLink()).url);
      await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
      return page;
    },
    kill: () => end('SIGKILL'),
    start: async () => void (await start(new URL(url).port)),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}
