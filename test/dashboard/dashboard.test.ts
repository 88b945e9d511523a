import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { reasonForNoChromium } from '../api/chromium.ts';
import { eventually } from '../contracts/harness.ts';
import { type ModelServer, startModelServer } from '../fixtures/model-server/model-server.ts';
import { accessibilityProblems } from './accessibility.ts';
import { picture } from './picture.ts';
import { type DashboardWorld, dashboardWorld, waitMs } from './world.ts';

const { bubblewrap } = inject('engines');
const missing = bubblewrap.available ? await reasonForNoChromium() : bubblewrap.reason;

const pages = [
  'sandboxes',
  'sandboxes/demo',
  'sandboxes/demo/terminal',
  'sandboxes/demo/files/notes.md',
  'sandboxes/demo/processes',
  'sandboxes/demo/snapshots',
  'sandboxes/demo/ports',
  'sandboxes/demo/egress',
  'sandboxes/demo/events',
  'runs',
  'runs/contexts',
  'solve',
  'memory',
  'chats',
  'chats/talk',
  'agents',
  'approvals',
  'egress',
  'settings',
  '',
];

describe.skipIf(missing)(
  `UI-1: the dashboard in Chromium${missing ? ` (skipped: ${missing})` : ''}`,
  { timeout: 300_000 },
  () => {
    let world: DashboardWorld;
    let model: ModelServer;
    let page: Page;
    /** The model answers nothing while this is so. */
    let isBusy = true;
    const go = (path: string, on = page) => on.goto(`${world.url}/#/${path}`);
    const field = (label: string) =>
      page.getByLabel(label, { exact: true }).and(page.locator('input, textarea, select'));
    const heading = (name: string, on = page) => on.getByRole('heading', { name, level: 1 }).waitFor();

    beforeAll(async () => {
      let wrong = true;
      const never = new Promise(() => {});
      model = await startModelServer(({ prompt }) => {
        if (prompt.includes('Say from the evidence'))
          return { text: JSON.stringify({ analysis: 'a', cause: 'It squares.', change: 'Double it.' }) };
        if (prompt.includes('take your time'))
          return isBusy ? { text: '', hold: never } : { text: 'Now it is **done**.' };
        if (!prompt.includes('double')) return { text: 'The agent says hello.' };
        const code = wrong ? 'def double(n): return n * n' : 'def double(n): return 2 * n';
        wrong = false;
        return { text: JSON.stringify({ language: 'python', code, files: [], checks: '', needs: '' }) };
      });
      world = await dashboardWorld({
        GEODE_RUNTIME_NAME: 'bubblewrap',
        GEODE_PROVIDERS_SERVICES: JSON.stringify({
          scripted: { kind: 'openai-compatible', base_url: `${model.url}/v1`, api_key: 'sk-not-for-anybody' },
        }),
        GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      });
    }, 300_000);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      await model?.[Symbol.asyncDispose]();
    }, 180_000);

    // What was on the screen says more than the words of a timeout.
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail')
        await picture(page, `failed-${task.name.split(':')[0]?.slice(0, 20)}`);
    });

    test('a link opens it once; the session is a cookie that no script reads', async () => {
      const stranger = await world.openOutside();
      await stranger.goto(world.url);
      await stranger.getByText('geode dashboard').waitFor();
      const { url } = await world.client.loginLink();
      page = await world.openOutside();
      await page.goto(url);
      await heading('Home');
      expect(page.url()).toBe(`${world.url}/#/`);
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
      expect(await page.evaluate('document.cookie')).toBe('');
      await stranger.goto(url);
      await stranger.getByText('This link was used already, or it is too old').waitFor();
      await stranger.context().close();
      // A reload keeps the session.
      await page.reload();
      await heading('Home');
      await page.getByText('Live', { exact: true }).first().waitFor();
    });

    test('RT-5: a sandbox: made, seen by another browser at once, with its figures and graphs', async () => {
      const other = await world.open();
      await go('sandboxes', other);
      await other.getByText('There are no sandboxes yet').waitFor();
      await go('sandboxes');
      await field('Name of the new sandbox').fill('demo');
      await page.getByRole('button', { name: 'Create' }).click();
      await heading('demo');
      await other.getByRole('link', { name: 'demo' }).waitFor();
      await other.context().close();
      await page.getByText('bubblewrap: os').waitFor();
      // What it uses, and its limit.
      await page
        .getByText(/^[\d.]+ MiB \/ [\d.]+ [MG]iB$/)
        .first()
        .waitFor();
      await page.getByRole('img', { name: 'CPU in use' }).locator('canvas').waitFor();
      await page.getByRole('img', { name: 'Memory in use' }).locator('canvas').waitFor();
    });

    test('files: made, edited, saved, not written over when somebody else was faster, uploaded, deleted', async () => {
      const files = world.client.sandboxes.of('demo').files;
      await go('sandboxes/demo/files');
      await field('Path of the new file').fill('notes.md');
      await page.getByRole('button', { name: 'New file' }).click();
      const editor = page.getByRole('textbox', { name: 'Editor' });
      await editor.click();
      await page.keyboard.type('mine');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved', { exact: true }).waitFor();
      expect(await files.readText('notes.md')).toBe('mine');
      await files.write('notes.md', 'theirs, longer');
      await editor.click();
      await page.keyboard.type('!');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The file was changed in the sandbox').waitFor();
      expect(await files.readText('notes.md')).toBe('theirs, longer');
      await page.getByRole('button', { name: 'Take theirs' }).click();
      await expect.poll(() => editor.textContent(), { timeout: waitMs }).toContain('theirs, longer');
      await field('Files to upload').setInputFiles({
        name: 'sent.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('sent by drop'),
      });
      await page.getByRole('link', { name: /sent\.txt/ }).click();
      await page.getByRole('heading', { name: 'sent.txt' }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('sent.txt');
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await eventually(async () => !(await files.exists('sent.txt')), 'the file to be gone', waitMs);
    });

    test('processes: started, followed as they write, searched, killed', async () => {
      await go('sandboxes/demo/processes');
      await field('Command').fill('for i in 1 2 3; do echo line $i; done; sleep 600');
      await page.getByRole('button', { name: 'Run' }).click();
      const output = page.getByRole('region', { name: 'Output' });
      await output.getByText('line 3').first().waitFor();
      await field('Find in the output').fill('line 2');
      await page.getByText('1 lines found').waitFor();
      await page.getByRole('button', { name: 'Kill' }).first().click();
      await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click();
      await page.getByText('signal SIGKILL').waitFor();
    });

    test('snapshots: taken, compared, restored, forked', async () => {
      const { files } = world.client.sandboxes.of('demo');
      await go('sandboxes/demo/snapshots');
      await field('Name (may be empty)').fill('before');
      await page.getByRole('button', { name: 'Take a snapshot' }).click();
      await page.getByText('before', { exact: true }).waitFor();
      await files.write('notes.md', 'changed\n');
      await page.getByRole('button', { name: 'What changed since' }).click();
      await page.getByRole('button', { name: 'notes.md' }).click();
      await page.getByText('+changed').waitFor();
      await page.getByRole('button', { name: 'Restore' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await files.readText('notes.md')).toBe('theirs, longer');
      await page.getByRole('button', { name: 'Fork' }).click();
      await field('Name of the new sandbox').fill('forked');
      await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click();
      await heading('forked');
      expect(await world.client.sandboxes.of('forked').files.readText('notes.md')).toBe('theirs, longer');
    });

    test('ports: a preview of a server in the sandbox', async () => {
      const sandbox = world.client.sandboxes.of('demo');
      await sandbox.spawn({
        argv: ['python3', '-m', 'http.server', '8123', '--bind', '127.0.0.1'],
        timeoutMs: null,
      });
      await eventually(
        async () => (await sandbox.preview(8123).catch(() => undefined)) !== undefined,
        'the server',
        waitMs,
      );
      await go('sandboxes/demo/ports');
      await field('Port').fill('8123');
      await page.getByRole('button', { name: 'Open a preview' }).click();
      const link = page.getByRole('link', { name: 'Open the preview 8123' });
      expect(await link.getAttribute('href')).toMatch(/^http:\/\/8123-\w+\.localhost:\d+\/\?geode_token=/);
    });

    test('egress: a refused target is seen at once and allowed from its row; secrets are write-only', async () => {
      const sandbox = world.client.sandboxes.of('demo');
      await go('egress');
      await heading('Egress');
      await sandbox.egress.set({ allow: ['example.org'] });
      const ask =
        'import urllib.request\ntry: urllib.request.urlopen("http://refused.example/", timeout=20)\nexcept Exception as e: print(e)';
      await sandbox.exec({ argv: ['python3', '-c', ask] });
      await page.getByText('refused.example:80').first().waitFor();
      await page.getByRole('button', { name: 'Allow…' }).first().click();
      await page.getByRole('button', { name: 'For this sandbox, for good' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const { policy } = await sandbox.egress.get();
      expect(policy.allow).toContainEqual(expect.objectContaining({ host: 'refused.example', ports: [80] }));
      await field('Name').fill('anthropic');
      await field('Value').fill('sk-ant-never-shown-again');
      await page.getByRole('button', { name: 'Set', exact: true }).click();
      await page.getByRole('listitem').filter({ hasText: 'anthropic' }).first().waitFor();
      expect(await page.content()).not.toContain('sk-ant-never-shown-again');
      await go('sandboxes/demo/egress');
      await page.getByText('refused.example:80').first().waitFor();
    });

    test('approvals: what a sandbox asks for waits, and is decided here', async () => {
      const sandbox = world.client.sandboxes.of('demo');
      await sandbox.egress.ask(true);
      await go('approvals');
      await page.getByText('Nothing waits for you').waitFor();
      const ask = 'import urllib.request\nurllib.request.urlopen("http://asked.example/", timeout=200)';
      const asking = sandbox.exec({ argv: ['python3', '-c', ask], timeoutMs: null });
      await page
        .getByText(/asked\.example/)
        .first()
        .waitFor();
      await page.getByRole('button', { name: 'Deny' }).click();
      expect((await asking).exitCode).not.toBe(0);
      await page
        .getByText(/decided: Deny/)
        .first()
        .waitFor();
      await sandbox.egress.ask(false);
    });

    test('runs: code in an editor, its output as it comes, its exit code', async () => {
      await go('runs');
      const editor = page.getByRole('textbox', { name: 'Code' });
      await editor.click();
      await page.keyboard.press('Control+A');
      await page.keyboard.type('print("six times", 6 * 7, input())');
      await field('Input (stdin)').fill('typed');
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByText('six times 42 typed').waitFor();
      await page.getByText(/exit code 0/).waitFor();
      await page.getByRole('listitem').filter({ hasText: 'run-end' }).first().waitFor();
    });

    test('memory: added, found with the reason, changed with its versions kept, forgotten', async () => {
      await go('memory');
      await page.getByText('Memory is empty').waitFor();
      await field('Id (may be empty)').fill('notes/deploy');
      await field('Content').fill('Deploys run from the release branch');
      await page.getByRole('button', { name: 'Add an entry' }).click();
      await page.getByRole('heading', { name: 'notes/deploy' }).waitFor();
      await field('Search by meaning and by word').fill('deploys release');
      await page.getByText(/Why it is here:.*releas/).waitFor();
      await field('Content').first().fill('Deploys run on Fridays');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Earlier versions (1)').waitFor();
      await page.getByRole('button', { name: 'Forget' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('heading', { name: 'notes/deploy' }).waitFor({ state: 'detached' });
      expect((await world.client.list()).total).toBe(0);
    });

    test('SLV-3: solve: attempts as they happen, each with its verdict, and the crystal that is left', async () => {
      await go('solve');
      await field('Problem').first().fill('write double(n), twice the number');
      await field('Tests (may be empty)').fill('assert double(3) == 6\n');
      await page.getByRole('button', { name: 'Solve', exact: true }).click();
      await page
        .getByText(/It did not pass the tests/)
        .first()
        .waitFor();
      await page
        .getByText(/It squares/)
        .first()
        .waitFor();
      await page
        .getByText(/It passed the tests/)
        .first()
        .waitFor();
      await page.getByRole('button', { name: 'Pin', exact: true }).click();
      await page.getByRole('button', { name: 'Unpin' }).waitFor();
    });

    test('agents: a message is answered before the eyes of the one who wrote it', async () => {
      await go('agents');
      await field('Chat, whose sandbox the agent works in').fill('forked');
      await field('Message').fill('hello there');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('The agent says hello.').first().waitFor();
    });

    test('chats: written to, stopped, asked again, scheduled, exported with every step', async () => {
      await go('chats');
      await page.getByText('connected', { exact: true }).waitFor();
      await field('Name of the chat').fill('talk');
      await field('First message').fill('take your time');
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await heading('Chats');
      await page.getByText('The agent is working').waitFor();
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByText('Stopped.').first().waitFor();
      await page.getByText('The agent is working').waitFor({ state: 'detached' });
      isBusy = false;
      await page.getByRole('button', { name: 'Send again' }).click();
      // What agents say is laid out.
      await page.locator('strong', { hasText: 'done' }).first().waitFor();
      await field('When: 0 9 * * 1-5, every 2h, in 20m, or 2027-01-31T09:00').fill('every 2h');
      await field('What to say then').fill('look at the build');
      await page.getByRole('button', { name: 'Schedule', exact: true }).click();
      const planned = page.getByRole('listitem').filter({ hasText: 'look at the build' });
      await planned.getByText(/next .*\d/).waitFor();
      await planned.getByRole('button', { name: 'End' }).click();
      await page.getByText('Nothing is said at set times').waitFor();
      await page.getByRole('button', { name: 'Show every step' }).click();
      await page.getByText(/builtin, \d+ turns/).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('talk.json');
      const exported = JSON.parse(await readFile(await download.path(), 'utf8'));
      expect(exported.records).toContainEqual(expect.objectContaining({ text: 'Now it is **done**.' }));
      expect(exported.records).toContainEqual(expect.objectContaining({ type: 'turn' }));
      // It is there for whoever comes later.
      await page.reload();
      await page.locator('strong', { hasText: 'done' }).first().waitFor();
      await page.getByRole('link', { name: 'talk' }).first().waitFor();
    });

    test('settings: runtimes with reasons, the config with its sources, a key that is shown once', async () => {
      await go('settings');
      await page.getByText('works: os').waitFor();
      await page.getByText('gateway.port').waitFor();
      await field('Label').fill('made by a test');
      await page.getByRole('button', { name: 'Make a key' }).click();
      await page.getByText(/^geode_[0-9a-f]{12}_/).waitFor();
      await page.reload();
      await page.getByText('made by a test').waitFor();
      expect(await page.content()).not.toMatch(/geode_[0-9a-f]{12}_/);
    });

    test('keyboard: Ctrl-K leads to a sandbox, Escape closes, the first Tab skips to the page', async () => {
      await go('');
      await page.keyboard.press('Control+k');
      await field('Page or sandbox').fill('dem');
      await page.keyboard.press('Enter');
      await heading('demo');
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.reload();
      await heading('demo');
      await page.keyboard.press('Tab');
      await expect
        .poll(() => page.evaluate('document.activeElement.textContent'), { timeout: waitMs })
        .toBe('Skip to the page');
    });

    test('a terminal: typed in, and there again with its screen after the host was killed', async () => {
      await go('sandboxes/demo/terminal');
      await page.getByRole('button', { name: 'New terminal' }).click();
      const screen = page.locator('.xterm-rows');
      await expect.poll(() => screen.textContent(), { timeout: waitMs }).toMatch(/[$#]/);
      const type = async (command: string) => {
        await page.locator('.xterm-screen').click();
        await page.keyboard.type(command);
        await page.keyboard.press('Enter');
      };
      await type('echo before-$((1 + 1))');
      await screen.getByText('before-2').first().waitFor();
      await picture(page, 'terminal');
      await world.kill();
      await page.getByText('Reconnecting…').first().waitFor();
      await world.start();
      await page.getByText('Live', { exact: true }).first().waitFor();
      await expect.poll(() => screen.textContent(), { timeout: waitMs }).toContain('before-2');
      await page.getByText('The connection was lost').waitFor({ state: 'detached' });
      await type('echo after-$((2 + 2))');
      await screen.getByText('after-4').first().waitFor();
    });

    test('hostile names, output, files and entries are text: nothing runs, nothing leaves its place', async () => {
      const hostile = '<img src=x onerror="window.pwned=1">\u202egnp.exe';
      const { sandboxes } = world.client;
      await sandboxes.getOrCreate(hostile, { labels: { hostile } });
      const sandbox = sandboxes.of(hostile);
      await sandbox.files.write(`${hostile}.txt`, `<script>window.pwned=3</script>${'x'.repeat(50_000)}`);
      const evil = `printf '\\033]0;title\\007\\033[2J<b onmouseover=alert(1)>%s' "${'y'.repeat(20_000)}"`;
      const { id } = await sandbox.spawn({ argv: ['/bin/sh', '-c', evil] });
      await world.client.ingest({
        id: hostile,
        content: hostile.repeat(50),
        category: 'core',
        source: hostile,
      });
      const at = encodeURIComponent(hostile);
      for (const path of [
        '',
        'sandboxes',
        `sandboxes/${at}`,
        `sandboxes/${at}/files/${encodeURIComponent(`${hostile}.txt`)}`,
        `sandboxes/${at}/processes/${id}`,
        'memory',
        `memory/${at}`,
      ]) {
        await go(path);
        await page
          .getByText(/<img src=x|<b onmouseover/)
          .first()
          .waitFor();
        expect(await page.evaluate('window.pwned')).toBeUndefined();
        expect(await page.locator('img[src="x"], #root script, [onmouseover]').count()).toBe(0);
        expect(await page.title()).toBe('Geode');
        expect(await page.evaluate(overflow), path).toBeLessThanOrEqual(0);
      }
      expect(await page.evaluate(shownText)).not.toContain('\u202e');
      await sandboxes.remove(hostile);
      await world.client.remove(hostile);
    });

    test('every page is accessible in both themes, and fits a phone', async () => {
      for (const theme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: theme });
        await go('sandboxes/demo');
        await page.getByRole('img', { name: 'Memory in use' }).locator('canvas').waitFor();
        await picture(page, `sandbox-${theme}`);
        await go('');
        await settled(page);
        await picture(page, `home-${theme}`);
      }
      const phone = await world.open({ viewport: { width: 390, height: 780 }, hasTouch: true });
      const problems: string[] = [];
      for (const path of pages) {
        await go(path);
        await settled(page);
        for (const theme of ['light', 'dark'] as const)
          for (const problem of await accessibilityProblems(page, theme))
            problems.push(`${path} ${theme}: ${problem}`);
        await go(path, phone);
        await settled(phone);
        const wider = Number(await phone.evaluate(overflow));
        if (wider > 0) problems.push(`${path}: ${wider} px too wide for a phone`);
      }
      expect(problems).toEqual([]);
      await phone.context().close();
    });

    test('pages of other origins can do nothing with the session, not even those of the same site', async () => {
      const { url } = world;
      const attack = `<iframe src="${url}/"></iframe><script>
        const tries = {
          read: () => fetch('${url}/api/v1/sandboxes', { credentials: 'include' }).then((r) => r.status),
          write: () => fetch('${url}/api/v1/sandboxes', { method: 'POST', credentials: 'include', mode: 'no-cors',
            headers: { 'content-type': 'text/plain' }, body: '{"chat":"stolen"}' }).then((r) => r.type),
          socket: () => new Promise((resolve) => { const s = new WebSocket('${url.replace('http', 'ws')}/api/v1/events', ['geode']);
            s.onopen = () => resolve('open'); s.onerror = () => resolve('refused'); }),
        };
        (async () => { const said = {}; for (const [name, act] of Object.entries(tries)) said[name] = await act().catch(() => 'refused');
          document.title = JSON.stringify(said); })();
      </script>`;
      const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(attack));
      await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
      const { port } = evil.address() as AddressInfo;
      const victim = await page.context().newPage();
      try {
        await victim.goto(`http://127.0.0.1:${port}/`);
        await victim.waitForFunction('document.title !== ""', undefined, { timeout: waitMs });
        expect(JSON.parse(await victim.title())).toMatchObject({ read: 'refused', socket: 'refused' });
        expect((await world.client.sandboxes.list()).map(({ chat }) => chat)).not.toContain('stolen');
        expect(victim.frames().map((frame) => frame.url())).not.toContain(`${url}/`);
      } finally {
        await victim.close();
        evil.closeAllConnections();
        evil.close();
      }
      // The cookie by itself, from whoever has it, is worth nothing to a page elsewhere.
      const cookies = (await page.context().cookies())
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ');
      const ask = (headers: Record<string, string>, method = 'GET') =>
        fetch(`${url}/session`, { method, headers: { cookie: cookies, ...headers } }).then((r) => r.status);
      expect(await ask({ 'sec-fetch-site': 'same-origin' })).toBe(200);
      expect(await ask({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' })).toBe(403);
      expect(await ask({ 'sec-fetch-site': 'cross-site' })).toBe(403);
      expect(await ask({ origin: 'http://evil.example' }, 'DELETE')).toBe(403);
      expect(await ask({}, 'DELETE')).toBe(401);
    });

    test('logging out ends the session for good', async () => {
      const cookies = (await page.context().cookies())
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ');
      await go('');
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByText('geode dashboard').waitFor();
      const again = await fetch(`${world.url}/session`, {
        headers: { cookie: cookies, 'sec-fetch-site': 'same-origin' },
      });
      expect(again.status).toBe(401);
    });

    test('no page ever ran a foreign script, broke the content policy or asked another host', () => {
      expect(world.problems).toEqual([]);
    });
  },
);

/** How many pixels a page is wider than its window. */
const overflow = 'document.documentElement.scrollWidth - innerWidth';

/** Without what a person edits, which is as it is. */
const shownText =
  "[...document.querySelectorAll('#main :not(textarea)')].flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3).map((n) => n.data).join('')";

/** All that was asked for is there. */
async function settled(page: Page): Promise<void> {
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
  await page.getByRole('heading', { level: 1 }).first().waitFor();
}
