import type { Page } from 'playwright-core';

/** Drops a file on a part of the page, as a person does with the mouse. */
export async function dropFile(page: Page, selector: string, name: string, content: string): Promise<void> {
  const given = await page.evaluateHandle(
    `(() => {
      const given = new DataTransfer();
      given.items.add(new File([${JSON.stringify(content)}], ${JSON.stringify(name)}, { type: 'text/markdown' }));
      return given;
    })()`,
  );
  await page.dispatchEvent(selector, 'drop', { dataTransfer: given });
}
