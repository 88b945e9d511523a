import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { accessibilityProblems } from './accessibility.ts';
import { everyPage } from './every-page.ts';
import { inFourForms } from './four-forms.ts';
import { reviewPicture } from './picture.ts';
import { describeDashboard, hiddenTabs, overflow, phoneForm, settled } from './scene.ts';
import { waitMs } from './world.ts';

describeDashboard(
  'UI-1: the dashboard is safe and accessible, in Chromium',
  { answer: () => ({ text: 'The agent says **hello**.' }) },
  (scene) => {
    const { go } = scene;

    beforeAll(async () => {
      const { client } = scene.world;
      const sandbox = client.sandboxes.of('demo');
      await sandbox.files.write('notes.md', '# Notes\n\n- one\n');
      await sandbox.snapshots.take({ name: 'first' });
      await sandbox.spawn({ argv: ['/bin/sh', '-c', 'echo hello; sleep 600'], timeoutMs: null });
      await sandbox.spawn({
        argv: ['/bin/sh'],
        pty: { columns: 80, rows: 24 },
        interactive: true,
        timeoutMs: null,
      });
      await client.runs.run('print(6 * 7)', 'python');
      await client.chats.post('talk', { text: 'hello' });
      await client.ingest({
        id: 'deploy',
        content: 'From the release branch.',
        category: 'core',
        source: 'test',
      });
    }, 120_000);

    test('hostile names, output, files and entries are text: nothing runs, nothing leaves its place', async () => {
      const { page, world } = scene;
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
      // The overview shows names, the setup list does not.
      await page.evaluate("localStorage.setItem('geode-setup-hidden', 'yes')");
      await page.reload();
      for (const path of [
        '',
        'sandboxes',
        `sandboxes/${at}`,
        `sandboxes/${at}/files/${encodeURIComponent(`${hostile}.txt`)}`,
        `sandboxes/${at}/processes/${id}`,
        'knowledge/memory',
        `knowledge/memory/${at}`,
      ]) {
        await go(path);
        await page
          .getByText(/<img src=x|<b onmouseover/)
          .first()
          .waitFor();
        expect(await page.evaluate('window.pwned')).toBeUndefined();
        expect(await page.locator('img[src="x"], #root script, [onmouseover]').count()).toBe(0);
        expect(await page.title()).toMatch(/Geode$/);
        expect(await page.evaluate(overflow), path).toBeLessThanOrEqual(0);
      }
      expect(await page.evaluate(shownText)).not.toContain('\u202e');
      await sandboxes.remove(hostile);
      await world.client.remove(hostile);
    });

    test('UI-4: every page in four forms is accessible, fits its window and has its picture', async () => {
      const { page, world } = scene;
      const phone = await world.open(phoneForm);
      const { client } = world;
      const [run] = await client.runs.list({ limit: 1 });
      const { id: notebook } = await client.contexts.open('python', { chat: 'demo' });
      const [journal] = await client.sandboxes.of('demo').journals.list();
      const process = journal?.processId;
      const paths = everyPage({ sandbox: 'demo', notebook, run: run?.id, process, file: 'notes.md' });
      const problems: string[] = [];
      const pictures = new Map<string, Buffer>();
      await inFourForms(scene, paths, { desk: page, phone }, async (shown) => {
        const { name, theme } = shown;
        for (const problem of await accessibilityProblems(shown.page, theme))
          problems.push(`${name}: ${problem}`);
        const wider = Number(await shown.page.evaluate(overflow));
        if (wider > 0) problems.push(`${name}: ${wider} px too wide`);
        const hidden = Number(await shown.page.evaluate(hiddenTabs));
        if (hidden > 0) problems.push(`${name}: ${hidden} current tabs out of view`);
        pictures.set(name, await reviewPicture(shown.page, name));
      });
      expect(problems).toEqual([]);
      expect(pictures.size).toBe(paths.length * 4);
      for (const [name, picture] of pictures) {
        // The width of a PNG file.
        expect(picture.readUInt32BE(16), name).toBe(name.includes('-phone-') ? 390 : 1200);
        const other = name.replace(/light$/, 'dark');
        if (other !== name) expect(pictures.get(other)?.equals(picture), name).toBe(false);
      }
      await phone.context().close();
    }, 1_800_000);

    test('UI-4: the list of pages has every page that the places and the settings lead to', async () => {
      const { page } = scene;
      const known = everyPage({ sandbox: 'demo' });
      const found = new Set<string>();
      for (const path of [
        '',
        'sandboxes/demo',
        'chat/demo/files',
        'code/runs',
        'knowledge/memory',
        'settings/health',
      ]) {
        await go(path);
        await settled(page);
        const addresses = await page
          .locator('a[href^="#/"]')
          .evaluateAll((links) => links.map((link) => link.getAttribute('href') ?? ''));
        for (const address of addresses) {
          const parts = address.slice(2).split('/').slice(0, 3);
          found.add(parts.join('/').replace(/\/overview$/, ''));
        }
      }
      // Things of other chats, single runs, notebooks and entries are pages of the same kinds.
      const kinds = [...found].filter((path) =>
        /^(settings|knowledge)\/[a-z]+$|^(sandboxes|chat)\/demo/.test(path),
      );
      expect(kinds.length).toBeGreaterThan(20);
      expect(kinds.filter((path) => !known.includes(path))).toEqual([]);
    });

    test('pages of other origins, also of the same site, cannot use the session', async () => {
      const { page, world } = scene;
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
      // A stolen cookie alone is useless for a page of another origin.
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
  },
);
/** Without what a person edits, which is as it is. */
const shownText =
  "[...document.querySelectorAll('#main :not(textarea)')].flatMap((e) => [...e.childNodes]).filter((n) => n.nodeType === 3).map((n) => n.data).join('')";
