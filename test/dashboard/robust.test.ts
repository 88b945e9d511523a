/** The dashboard where things are not as they should be: killed hosts, slow networks, proxies, hostile words. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { eventually } from '../contracts/harness.ts';
import { startProxy } from './reverse-proxy.ts';
import { describeDashboard, overflow } from './scene.ts';
import { waitMs } from './world.ts';

const hostile =
  '<img src=x onerror="window.pwned=1"> [press](javascript:window.pwned=2) ![see](http://evil.example/spy.png) \u202egnp.exe <script>window.pwned=3</script>';

describeDashboard('the dashboard in bad times', { answer: () => ({ text: hostile }) }, (scene) => {
  const { go, heading, command } = scene;

  test('behind a proxy under a path: the link, a terminal and the cookie stay below it', async () => {
    const { world } = scene;
    await using proxy = await startProxy(world.url, '/tools/geode');
    const { url } = await world.client.loginLink();
    const behind = await world.openOutside({}, proxy.url);
    await behind.goto(url.replace(world.url, proxy.url));
    await heading('Home', behind);
    expect(await behind.context().cookies()).toMatchObject([{ path: '/tools/geode/', httpOnly: true }]);
    await behind.goto(`${proxy.url}/#/sandboxes/demo/terminal`);
    await behind.getByRole('button', { name: 'New terminal' }).click();
    await command('echo through-$((20 + 3))', behind);
    await behind.locator('.xterm-rows').getByText('through-23').first().waitFor();
    await behind.context().close();
  });

  test('two browsers share one terminal, and an approval is decided once', async () => {
    const { page, world } = scene;
    const other = await world.open();
    await go('sandboxes/demo/terminal');
    await go('sandboxes/demo/terminal', other);
    await command('echo seen-$((30 + 4))', page);
    await other.locator('.xterm-rows').getByText('seen-34').first().waitFor();
    await command('echo both-$((40 + 5))', other);
    await page.locator('.xterm-rows').getByText('both-45').first().waitFor();
    const sandbox = world.client.sandboxes.of('demo');
    await sandbox.egress.ask(true);
    const ask = 'import urllib.request\nurllib.request.urlopen("http://both.invalid/", timeout=200)';
    const asking = sandbox.exec({ argv: ['python3', '-c', ask], timeoutMs: null });
    await go('inbox');
    await go('inbox', other);
    await other.getByRole('button', { name: /^Deny/ }).waitFor();
    await page.getByRole('button', { name: /^Deny/ }).click();
    await other.getByText('Nothing waits for you').waitFor();
    expect((await asking).exitCode).not.toBe(0);
    await sandbox.egress.ask(false);
    await other.context().close();
  });

  test('a host that is killed under an open page: it reconnects, and no line is missing or doubled', async () => {
    const { page, world } = scene;
    const sandbox = world.client.sandboxes.of('demo');
    const count = 'for i in $(seq 1 150); do echo "count $i"; sleep 0.1; done';
    const { id } = await sandbox.spawn({ argv: ['/bin/sh', '-c', count], timeoutMs: null });
    await go(`sandboxes/demo/processes/${id}`);
    const output = page.getByRole('group', { name: 'Output' });
    // On a slow machine the first lines are out of sight by now.
    await output
      .getByText(/^count \d+$/)
      .first()
      .waitFor();
    await world.kill();
    await page.getByText('Reconnecting…').first().waitFor();
    await world.start();
    await page.getByText('Connected', { exact: true }).first().waitFor();
    await page.getByText('exit code 0', { exact: true }).waitFor();
    expect(await shownLines(page)).toEqual(Array.from({ length: 150 }, (_, at) => `count ${at + 1}`));
    // The events of the new host appear on the old page.
    await sandbox.spawn({ argv: ['uname'] });
    await go('sandboxes/demo/log');
    await page.getByText('uname').first().waitFor();
  });

  test('on a network five times slower, requested pages arrive in order', async () => {
    const { world } = scene;
    const slow = await world.openOutside();
    const wire = await slow.context().newCDPSession(slow);
    await wire.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 200,
      downloadThroughput: 125_000,
      uploadThroughput: 60_000,
    });
    await slow.goto((await world.client.loginLink()).url);
    await heading('Home', slow);
    await world.client.sandboxes.of('demo').files.write('slow.txt', 'one');
    await go('sandboxes/demo/files/slow.txt', slow);
    const editor = slow.getByRole('textbox', { name: 'Editor' });
    await editor.click();
    await slow.keyboard.press('End');
    await slow.keyboard.type(' and two');
    await slow.getByRole('button', { name: /^Save/ }).click();
    await slow.getByText('Saved', { exact: true }).waitFor();
    expect(await world.client.sandboxes.of('demo').files.readText('slow.txt')).toBe('one and two');
    await slow.context().close();
  });

  test('by keyboard alone: create a sandbox, use its terminal, leave it and remove it', async () => {
    const { page, world } = scene;
    await go('');
    await heading('Home');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.type('sandboxes');
    await page.keyboard.press('Enter');
    await heading('Sandboxes');
    await tabTo(page, 'Name of the new sandbox');
    await page.keyboard.type('keys');
    await page.keyboard.press('Enter');
    await heading('keys');
    await tabTo(page, 'Terminal');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'New terminal' }).waitFor();
    await tabTo(page, 'New terminal');
    await page.keyboard.press('Enter');
    const screen = page.locator('.xterm-rows');
    await expect.poll(() => screen.textContent(), { timeout: waitMs }).toMatch(/[$#]/);
    await page.keyboard.type('echo typed-$((50 + 6))');
    await page.keyboard.press('Enter');
    await screen.getByText('typed-56').first().waitFor();
    await page.keyboard.press('Control+F6');
    await tabTo(page, 'Remove');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate(focused), { timeout: waitMs }).toBe('Remove');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await tabTo(page, 'Remove');
    await page.keyboard.press('Enter');
    await heading('Sandboxes');
    await eventually(
      async () => (await world.client.sandboxes.list()).every(({ chat }) => chat !== 'keys'),
      'the sandbox to be gone',
      waitMs,
    );
  });

  test('hostile text of people, models, programs and files is shown as text', async () => {
    const { page, world } = scene;
    const { client } = world;
    await client.chats.post('evil', { text: hostile });
    const sandbox = client.sandboxes.of('demo');
    await sandbox.files.write('evil.md', `# Title\n\n${hostile}\n\n${'>'.repeat(40)} deep`);
    await go('chat/evil');
    await page.getByText('press').nth(1).waitFor();
    await checkHarmless(page);
    await go('sandboxes/demo/files/evil.md');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { name: 'Title' }).waitFor();
    await checkHarmless(page);
    for await (const { type } of client.solves.solve({ problem: hostile, attempts: 1 }))
      if (type === 'attempt-start') break;
    await go('knowledge/solves');
    await page.getByRole('link', { name: /press/ }).first().waitFor();
    await checkHarmless(page);
    await go('code/runs');
    await page.getByRole('textbox', { name: 'Code' }).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(`print(${JSON.stringify(hostile)} + "\\x1b]0;title\\x07" + "z" * 30000)`);
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByText(/^Finished in/).waitFor();
    await checkHarmless(page);
  });

  test('a page of a server in a sandbox, shown as a preview, gets nothing from the dashboard', async () => {
    const { page, world } = scene;
    const { url } = world;
    const attack = `<iframe src="${url}/"></iframe><script>(async () => {
      const said = {};
      const tries = {
        read: () => fetch('${url}/api/v1/sandboxes', { credentials: 'include' }).then((r) => r.status),
        session: () => fetch('${url}/session', { credentials: 'include' }).then((r) => r.status),
        write: () => fetch('${url}/api/v1/sandboxes', { method: 'POST', credentials: 'include', mode: 'no-cors',
          headers: { 'content-type': 'text/plain' }, body: '{"chat":"stolen"}' }).then(() => 'sent'),
        socket: () => new Promise((resolve) => { const s = new WebSocket('${url.replace('http', 'ws')}/api/v1/events', ['geode']);
          s.onopen = () => resolve('open'); s.onerror = () => resolve('refused'); }),
      };
      for (const [name, act] of Object.entries(tries)) said[name] = await act().catch(() => 'refused');
      said.cookies = document.cookie;
      document.title = JSON.stringify(said);
    })();</script>`;
    const sandbox = world.client.sandboxes.of('demo');
    await sandbox.files.write('site/index.html', attack);
    await sandbox.spawn({
      argv: ['python3', '-m', 'http.server', '8124', '--bind', '127.0.0.1', '--directory', 'site'],
      timeoutMs: null,
    });
    await eventually(
      async () => (await sandbox.preview(8124).catch(() => undefined)) !== undefined,
      'the server',
      waitMs,
    );
    const victim = await page.context().newPage();
    try {
      await victim.goto(await sandbox.preview(8124));
      await victim.waitForFunction('document.title.startsWith("{")', undefined, { timeout: waitMs });
      expect(JSON.parse(await victim.title())).toMatchObject({
        read: 'refused',
        session: 'refused',
        socket: 'refused',
      });
      expect(await victim.title()).not.toContain('geode-session');
      expect((await world.client.sandboxes.list()).map(({ chat }) => chat)).not.toContain('stolen');
      expect(victim.frames().map((frame) => frame.url())).not.toContain(`${url}/`);
    } finally {
      await victim.close();
    }
  });
});

/** The screen reader's description of the current place. */
const focused =
  "(() => { const e = document.activeElement; return e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? e.textContent; })()";

async function tabTo(page: Page, name: string): Promise<void> {
  for (let pressed = 0; pressed < 80; pressed += 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(focused)) === name) return;
  }
  throw new Error(`Tab never comes to ${name}`);
}

/** All lines of a journal that the page has, of which it draws only those in sight. */
async function shownLines(page: Page): Promise<unknown> {
  return page.evaluate(`(async () => {
    const frame = document.querySelector('[aria-label="Output"][role="group"]');
    const lines = new Map();
    const drawn = () => [...frame.querySelectorAll('.absolute')];
    // The place is drawn when a line lies across the upper edge of what is seen.
    const isDrawn = (top) => drawn().some((line) => {
      const from = parseInt(line.style.top);
      return from <= top && top <= from + line.offsetHeight;
    });
    for (let top = 0; ; top += 200) {
      const most = frame.scrollHeight - frame.clientHeight;
      frame.scrollTop = Math.min(top, most);
      while (!isDrawn(frame.scrollTop)) await new Promise(requestAnimationFrame);
      for (const line of drawn()) lines.set(parseInt(line.style.top), line.textContent);
      if (top >= most) break;
    }
    return [...lines].sort(([a], [b]) => a - b).map(([, line]) => line);
  })()`);
}

async function checkHarmless(page: Page): Promise<void> {
  expect(await page.evaluate('window.pwned')).toBeUndefined();
  expect(await page.locator('#root script, img[src="x"], a[href^="javascript"]').count()).toBe(0);
  expect(await page.title()).toMatch(/Geode$/);
  expect(await page.evaluate(overflow)).toBeLessThanOrEqual(0);
}
