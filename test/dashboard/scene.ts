/** The start of every dashboard suite: a real gateway with a scripted model, and a page of it. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { reasonForNoChromium } from '../api/chromium.ts';
import { type Script, startModelServer } from '../fixtures/model-server/model-server.ts';
import { evidence } from './picture.ts';
import { type DashboardWorld, dashboardWorld, waitMs } from './world.ts';

const { bubblewrap } = inject('engines');
const missing = bubblewrap.available ? await reasonForNoChromium() : bubblewrap.reason;

export class Scene {
  #world: DashboardWorld | undefined;
  #page: Page | undefined;

  get world(): DashboardWorld {
    if (this.#world === undefined) throw new Error('The gateway has not started');
    return this.#world;
  }

  set world(world: DashboardWorld) {
    this.#world = world;
  }

  /** The page of the suite. */
  get page(): Page {
    if (this.#page === undefined) throw new Error('No page is open');
    return this.#page;
  }

  set page(page: Page) {
    this.#page = page;
  }

  /** Address of the scripted model. */
  modelAddress = '';

  go = (path: string, on = this.page) => on.goto(`${this.world.url}/#/${path}`);

  heading = (name: string, on = this.page): Promise<void> =>
    on.getByRole('heading', { name, level: 1 }).waitFor();

  field = (label: string, on = this.page): Locator =>
    on.getByLabel(label, { exact: true }).and(on.locator('input, textarea, select'));

  button = (name: string, on = this.page): Locator => on.getByRole('button', { name, exact: true });

  /** Types a command into the terminal that is shown, once it has a prompt. */
  command = async (line: string, on = this.page): Promise<void> => {
    const screen = on.locator('.xterm-rows');
    await expect.poll(() => screen.textContent(), { timeout: waitMs }).toMatch(/[$#]/);
    await on.locator('.xterm-screen').click();
    await on.keyboard.type(line);
    await on.keyboard.press('Enter');
  };
}

export interface SceneOptions {
  /** The model's answer. */
  readonly answer: Script;
  /** False if the suite connects the model itself. */
  readonly connected?: boolean;
  /** False if the suite logs in. */
  readonly loggedIn?: boolean;
  /** Further settings of the host, as variables. */
  readonly settings?: Readonly<Record<string, string>>;
}

export function describeDashboard(
  name: string,
  { answer, connected = true, loggedIn = true, settings = {} }: SceneOptions,
  tests: (scene: Scene) => void,
): void {
  describe.skipIf(missing)(`${name}${missing ? ` (skipped: ${missing})` : ''}`, { timeout: 600_000 }, () => {
    const scene = new Scene();
    const opened = new AsyncDisposableStack();
    beforeAll(async () => {
      const model = opened.use(await startModelServer(answer));
      scene.modelAddress = `${model.url}/v1`;
      const service = {
        kind: 'openai-compatible',
        base_url: scene.modelAddress,
        api_key: 'sk-not-for-anybody',
      };
      scene.world = opened.use(
        await dashboardWorld({
          GEODE_RUNTIME_NAME: 'bubblewrap',
          ...settings,
          ...(connected && {
            GEODE_PROVIDERS_SERVICES: JSON.stringify({ scripted: service }),
            GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
          }),
        }),
      );
      if (!loggedIn) return;
      await scene.world.client.sandboxes.getOrCreate('demo');
      scene.page = await scene.world.open();
    }, 300_000);
    afterAll(() => opened.disposeAsync(), 180_000);
    // A screenshot explains more than the message of a timeout.
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail')
        await evidence(scene.page, task.name.split(':')[0]?.slice(0, 20) ?? '');
    });
    tests(scene);
    test('no page ever ran a foreign script, broke the content policy or asked another host', () => {
      expect(scene.world.problems).toEqual([]);
    });
  });
}

/** How many pixels a page is wider than its window. */
export const overflow = 'document.documentElement.scrollWidth - innerWidth';

/** How many current tabs are not wholly in view in their row. */
export const hiddenTabs = `[...document.querySelectorAll('.tabs > [aria-current="page"]')].filter((tab) => {
  const [own, row] = [tab, tab.parentElement].map((each) => each.getBoundingClientRect());
  return own.width > 0 && (own.left < row.left - 1 || own.right > row.right + 1);
}).length`;

export const phoneForm = { viewport: { width: 390, height: 780 }, hasTouch: true } as const;

/** Waits until all requests of the page are answered. */
export async function settled(page: Page): Promise<void> {
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
  await page.locator('h1').first().waitFor({ state: 'attached' });
}
