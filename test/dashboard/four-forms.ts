/** Every page in four forms: at a desk and on a phone, each in the light and in the dark theme. */
import type { Page } from 'playwright-core';
import { type Scene, settled } from './scene.ts';

const themes = ['light', 'dark'] as const;

export interface ShownForm {
  readonly path: string;
  /** For a file: `settings-health-phone-dark`. */
  readonly name: string;
  readonly form: 'desk' | 'phone';
  readonly theme: (typeof themes)[number];
  readonly page: Page;
}

export async function inFourForms(
  { go }: Scene,
  paths: readonly string[],
  { desk, phone }: { readonly desk: Page; readonly phone: Page },
  visit: (shown: ShownForm) => Promise<void>,
): Promise<void> {
  for (const path of paths)
    for (const [form, page] of [['desk', desk] as const, ['phone', phone] as const]) {
      await go(path, page);
      await settled(page);
      const place = path === '' ? 'home' : path.replace(/[0-9a-f-]{16,}/g, 'one').replaceAll('/', '-');
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
        await visit({ path, name: `${place}-${form}-${theme}`, form, theme, page });
      }
      await page.emulateMedia({ colorScheme: 'light' });
    }
}
