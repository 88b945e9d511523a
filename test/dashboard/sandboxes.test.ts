import { expect, test } from 'vitest';
import { eventually } from '../contracts/harness.ts';
import { picture } from './picture.ts';
import { describeDashboard } from './scene.ts';
import { waitMs } from './world.ts';

describeDashboard(
  'UI-1: sandboxes in the dashboard, in Chromium',
  { answer: () => ({ text: 'Nobody asks.' }), loggedIn: false },
  (scene) => {
    const { go, field, heading, command } = scene;

    test('a login link works once; scripts cannot read the session cookie', async () => {
      const { world } = scene;
      const stranger = await world.openOutside();
      await stranger.goto(world.url);
      await stranger.getByText('geode dashboard', { exact: true }).waitFor();
      await stranger.getByText('npx geode-home dashboard', { exact: true }).waitFor();
      const { url } = await world.client.loginLink();
      const page = await world.openOutside();
      scene.page = page;
      await page.goto(url);
      await heading('Home');
      expect(page.url()).toBe(`${world.url}/#/`);
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
      expect(await page.evaluate('document.cookie')).toBe('');
      await stranger.goto(url);
      await stranger.getByText('This link was already used or has expired').waitFor();
      await stranger.context().close();
      // A reload keeps the session.
      await page.reload();
      await heading('Home');
      await page.getByText('Connected', { exact: true }).first().waitFor();
    });

    test('RT-5: a new sandbox appears at once in another browser, with its figures and graphs', async () => {
      const { page, world } = scene;
      const other = await world.open();
      await go('sandboxes', other);
      await other.getByText('No sandboxes yet').waitFor();
      await go('sandboxes');
      await field('Name of the new sandbox').fill('demo');
      await page.getByRole('button', { name: 'New sandbox' }).click();
      await heading('demo');
      await other.getByRole('link', { name: 'demo' }).first().waitFor();
      await other.context().close();
      await page.getByText("Shares this machine's kernel").waitFor();
      // Its use, and its limit.
      await page
        .getByText(/^[\d.]+ MiB of [\d.]+ [MG]iB/)
        .first()
        .waitFor();
      await page.getByRole('img', { name: 'CPU in use' }).locator('canvas').waitFor();
      await page.getByRole('img', { name: 'Memory in use' }).locator('canvas').waitFor();
    });

    test('files: creates, edits and saves, does not overwrite a newer version, uploads, deletes', async () => {
      const { page, world } = scene;
      const files = world.client.sandboxes.of('demo').files;
      await go('sandboxes/demo/files');
      await page.getByRole('button', { name: 'New file' }).click();
      await field('Path of the new file').fill('notes.md');
      await page.getByRole('button', { name: 'Create' }).click();
      const editor = page.getByRole('textbox', { name: 'Editor' });
      await editor.click();
      await page.keyboard.type('mine');
      await page.getByRole('button', { name: /^Save/ }).click();
      await page.getByText('Saved', { exact: true }).waitFor();
      expect(await files.readText('notes.md')).toBe('mine');
      await files.write('notes.md', 'theirs, longer');
      await editor.click();
      await page.keyboard.type('!');
      await page.getByRole('button', { name: /^Save/ }).click();
      await page.getByText('The file was changed in the sandbox').waitFor();
      expect(await files.readText('notes.md')).toBe('theirs, longer');
      await page.getByRole('button', { name: 'Take theirs' }).click();
      await expect.poll(() => editor.textContent(), { timeout: waitMs }).toContain('theirs, longer');
      await field('Files to upload').setInputFiles({
        name: 'sent.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('sent by drop'),
      });
      await page
        .getByRole('link', { name: /sent\.txt/ })
        .first()
        .click();
      await page.getByRole('heading', { name: 'sent.txt' }).waitFor({ state: 'attached' });
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('sent.txt');
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await eventually(async () => !(await files.exists('sent.txt')), 'the file to be gone', waitMs);
    });

    test('processes: starts, follows live output, searches and kills', async () => {
      const { page } = scene;
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

    test('snapshots: takes, compares, restores and forks', async () => {
      const { page, world } = scene;
      const { files } = world.client.sandboxes.of('demo');
      // An old address leads to the same place.
      await go('sandboxes/demo/snapshots');
      await page.waitForURL(/#\/sandboxes\/demo\/timeline$/);
      await field('Name (may be empty)').fill('before');
      await page.getByRole('button', { name: 'Take a snapshot' }).click();
      const snapshot = page.getByRole('button', { name: /before Snapshot/ });
      await snapshot.waitFor();
      await files.write('notes.md', 'changed\n');
      await snapshot.click();
      await page.getByRole('button', { name: 'notes.md' }).click();
      await page.getByText('+changed').waitFor();
      await page.getByRole('button', { name: 'Restore' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await files.readText('notes.md')).toBe('theirs, longer');
      await page.getByRole('button', { name: 'Fork from here' }).click();
      await field('Name of the new sandbox').fill('forked');
      await page.getByRole('dialog').getByRole('button', { name: 'Fork from here' }).click();
      await heading('forked');
      expect(await world.client.sandboxes.of('forked').files.readText('notes.md')).toBe('theirs, longer');
    });

    test('ports: a preview of a server in the sandbox', async () => {
      const { page, world } = scene;
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
      await go('sandboxes/demo/previews');
      await field('Port').fill('8123');
      await page.getByRole('button', { name: 'Open a preview' }).click();
      const link = page.getByRole('link', { name: 'Open the preview 8123' });
      expect(await link.getAttribute('href')).toMatch(/^http:\/\/8123-\w+\.localhost:\d+\/\?geode_token=/);
    });

    test('egress: a refused target is seen at once and allowed from its row; secrets are write-only', async () => {
      const { page, world } = scene;
      const sandbox = world.client.sandboxes.of('demo');
      await go('egress');
      await page.waitForURL(/#\/settings\/egress$/);
      await heading('Egress');
      await sandbox.egress.set({ allow: ['example.org'] });
      const ask =
        'import urllib.request\ntry: urllib.request.urlopen("http://refused.example/", timeout=20)\nexcept Exception as e: print(e)';
      await sandbox.exec({ argv: ['python3', '-c', ask] });
      await page.getByText('refused.example:80').first().waitFor();
      await go('sandboxes/demo/egress');
      await page.getByRole('button', { name: '1 hour: Allow host refused.example:80' }).click();
      await eventually(
        async () =>
          (await sandbox.egress.get()).policy.allow.some(
            ({ host, until }) => host === 'refused.example' && until !== undefined,
          ),
        'the rule for an hour',
        waitMs,
      );
      await page.getByRole('button', { name: 'Always: Allow host refused.example:80' }).click();
      await eventually(
        async () =>
          (await sandbox.egress.get()).policy.allow.some(
            ({ host, until }) => host === 'refused.example' && until === undefined,
          ),
        'the rule without an end',
        waitMs,
      );
      await go('settings/secrets');
      await field('Name').fill('anthropic');
      await field('Value').fill('sk-ant-never-shown-again');
      await page.getByRole('button', { name: 'Set', exact: true }).click();
      await page.getByRole('listitem').filter({ hasText: 'anthropic' }).first().waitFor();
      expect(await page.content()).not.toContain('sk-ant-never-shown-again');
    });

    test('inbox: a request of a sandbox waits, is counted everywhere, and is decided by a key', async () => {
      const { page, world } = scene;
      const sandbox = world.client.sandboxes.of('demo');
      await sandbox.egress.ask(true);
      await go('approvals');
      await page.waitForURL(/#\/inbox$/);
      await page.getByText('Nothing waits for you').waitFor();
      const ask = 'import urllib.request\nurllib.request.urlopen("http://asked.example/", timeout=200)';
      const asking = sandbox.exec({ argv: ['python3', '-c', ask], timeoutMs: null });
      await page
        .getByText(/asked\.example/)
        .first()
        .waitFor();
      await expect.poll(() => page.title(), { timeout: waitMs }).toBe('(1) Inbox · Geode');
      await page.getByRole('link', { name: /Inbox.*1 wait for you/ }).waitFor();
      expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain('b92229');
      await page.keyboard.press('F8');
      await page.keyboard.press('d');
      expect((await asking).exitCode).not.toBe(0);
      await page
        .getByText(/^Denied by/)
        .first()
        .waitFor();
      await expect.poll(() => page.title(), { timeout: waitMs }).toBe('Inbox · Geode');
      await sandbox.egress.ask(false);
    });

    test('a terminal accepts input, and returns with its screen after the host was killed', async () => {
      const { page, world } = scene;
      await go('sandboxes/demo/terminal');
      await page.getByRole('button', { name: 'New terminal' }).click();
      const screen = page.locator('.xterm-rows');
      await expect.poll(() => screen.textContent(), { timeout: waitMs }).toMatch(/[$#]/);
      await command('echo before-$((1 + 1))');
      await screen.getByText('before-2').first().waitFor();
      await picture(page, 'terminal');
      await world.kill();
      await page.getByText('Reconnecting…').first().waitFor();
      await world.start();
      await page.getByText('Connected', { exact: true }).first().waitFor();
      await expect.poll(() => screen.textContent(), { timeout: waitMs }).toContain('before-2');
      await page.getByText('The connection was lost').waitFor({ state: 'detached' });
      await command('echo after-$((2 + 2))');
      await screen.getByText('after-4').first().waitFor();
    });

    test('logging out ends the session permanently', async () => {
      const { page, world } = scene;
      const cookies = (await page.context().cookies())
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ');
      await go('');
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByText('geode dashboard', { exact: true }).waitFor();
      const again = await fetch(`${world.url}/session`, {
        headers: { cookie: cookies, 'sec-fetch-site': 'same-origin' },
      });
      expect(again.status).toBe(401);
    });
  },
);
