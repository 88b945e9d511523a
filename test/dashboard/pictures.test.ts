/** Takes the pictures of the guides: each page of an active host. `npm run pictures` stores them. */
import type { Page } from 'playwright-core';
import { test } from 'vitest';
import type { GeodeClient } from '../../src/client/client.ts';
import { eventually } from '../contracts/harness.ts';
import type { Reply } from '../fixtures/model-server/model-server.ts';
import { everyPage } from './every-page.ts';
import { inFourForms } from './four-forms.ts';
import { picture, reviewPicture } from './picture.ts';
import { describeDashboard, phoneForm } from './scene.ts';
import { takeTour, tourAnswer } from './tour.ts';
import { waitMs } from './world.ts';

/** The agent's answer. It claims only what the output of its command shows. */
const report = `With an **empty name** nobody is let in: \`signUp\` trims the name first, and answers with an error when nothing is left.

| name | answer |
|---|---|
| missing, or only blanks | \`Say who you are.\` |
| anything else | it is saved |

\`\`\`ts
const name = form.name?.trim() ?? '';
\`\`\``;

function answer({ prompt }: { readonly prompt: string }): Reply {
  const ofTour = tourAnswer(prompt);
  if (ofTour !== undefined) return ofTour;
  const wantsTool = !prompt.includes('src/signup.ts');
  if (!wantsTool) return { text: report };
  return {
    text: 'I look at the page first.',
    calls: [{ tool: 'shell', input: { command: 'cat src/signup.ts' } }],
  };
}

const signup = `import { save } from './store.ts';

/** Lets somebody in, once their name is known. */
export async function signUp(form: { name?: string; email: string }) {
  const name = form.name?.trim() ?? '';
  if (name === '') return { error: 'Say who you are.' };
  return save({ name, email: form.email.toLowerCase() });
}
`;

const plot = `class Chart:
    def _repr_svg_(self):
        bars = [31, 42, 38, 57, 64, 81, 96]
        rects = ''.join(f'<rect x="{20 + i * 54}" y="{120 - v}" width="36" height="{v}" rx="4" fill="#7048e8"/>' for i, v in enumerate(bars))
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="130"><line x1="10" y1="121" x2="396" y2="121" stroke="#999"/>{rects}</svg>'
Chart()`;

describeDashboard('the pictures of the dashboard', { answer }, (scene) => {
  const { go, heading, command } = scene;

  /** In both themes; the page is laid out for the one that is shown. */
  const both = async (page: Page, name: string) => {
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
      await picture(page, `${name}-${theme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  };

  test('show an active host', async () => {
    const { world } = scene;
    const { client } = world;
    await stage(client);
    const page = await world.open({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 2 });
    scene.page = page;

    await go('sandboxes/website');
    await page.getByRole('img', { name: 'Memory in use' }).locator('canvas').waitFor();
    // A graph is a line once there are some figures.
    await page
      .getByText(/of [\d.]+ [MG]iB/)
      .first()
      .waitFor();
    await page.waitForTimeout(settleMs);
    await both(page, 'sandbox');

    await go('');
    await heading('Home');
    await page
      .getByText(/api\.github\.com/)
      .first()
      .waitFor();
    await both(page, 'home');

    await go('sandboxes/website/terminal');
    await page.getByRole('button', { name: 'New terminal' }).click();
    await command('ls -la src && head -3 src/signup.ts');
    await page.locator('.xterm-rows').getByText('import { save }').first().waitFor();
    await picture(page, 'terminal');

    await go('chat/website');
    await page.getByRole('cell', { name: 'it is saved' }).waitFor();
    await both(page, 'chat');

    await go('sandboxes/website/egress');
    await page.getByText('telemetry.example').first().waitFor();
    await both(page, 'egress');

    const [notebook] = await client.contexts.list();
    await go(`code/notebooks/${notebook?.id}`);
    await page.locator('section[aria-label="Cell 2"] img').waitFor();
    await both(page, 'notebook');

    const phone = await world.open({ ...phoneForm, deviceScaleFactor: 2 });
    await phone.goto(`${world.url}/#/chat/website`);
    await phone.getByRole('cell', { name: 'it is saved' }).waitFor();
    await picture(phone, 'phone');
    await phone.context().close();
  });

  test.runIf(process.env.GEODE_PICTURES === 'tour')('show the tour of the README', () =>
    takeTour(scene.world),
  );

  test.runIf(process.env.GEODE_PICTURES === 'all')('show every page in four forms', async () => {
    const { world } = scene;
    const { client } = world;
    const [notebook] = await client.contexts.list();
    const [run] = await client.runs.list({ limit: 1 });
    const [journal] = await client.sandboxes.of('website').journals.list();
    const pages = everyPage({
      sandbox: 'website',
      notebook: notebook?.id,
      run: run?.id,
      process: journal?.processId,
      file: 'README.md',
    });
    const desk = await world.open({ viewport: { width: 1440, height: 900 } });
    const phone = await world.open(phoneForm);
    await inFourForms(
      scene,
      wanted(pages),
      { desk, phone },
      async ({ page, name }) => void (await reviewPicture(page, name)),
    );
    await desk.context().close();
    await phone.context().close();
  });
});

/** `npm run pictures -- all settings inbox` takes the pages whose addresses begin with these words. */
function wanted(pages: readonly string[]): readonly string[] {
  const words = (process.env.GEODE_PICTURES_OF ?? '').split(' ').filter((word) => word !== '');
  return words.length === 0 ? pages : pages.filter((path) => words.some((word) => path.startsWith(word)));
}

/** How long the suite collects usage values, because a graph needs more than one point. */
const settleMs = process.env.GEODE_PICTURES === 'docs' ? 40_000 : 0;

async function stage(client: GeodeClient): Promise<void> {
  const { sandboxes } = client;
  await sandboxes.remove('demo');
  for (const name of ['data-report', 'nightly-tests', 'website']) await sandboxes.getOrCreate(name);
  const website = sandboxes.of('website');
  await website.files.write('src/signup.ts', signup);
  await website.files.write(
    'src/store.ts',
    'export async function save(user: object) {\n  return { user };\n}\n',
  );
  await website.files.write('README.md', '# Website\n\nSign up, log in, log out.\n');
  await website.snapshots.take({ name: 'before-the-change' });
  await website.spawn({
    argv: ['python3', '-m', 'http.server', '8080', '--bind', '127.0.0.1'],
    timeoutMs: null,
  });
  // Some work, so that the graphs have something to show.
  const work =
    'import time, math\nheld = []\nwhile True:\n    end = time.time() + 0.4 * (1.2 + math.sin(time.time() / 5))\n    while time.time() < end: pass\n    held.append(bytearray(400_000))\n    if len(held) > 60: held = []\n    time.sleep(1)\n';
  await website.files.write('watch.py', work);
  await website.spawn({ argv: ['python3', 'watch.py'], timeoutMs: null });
  await sandboxes.of('nightly-tests').spawn({ argv: ['sleep', '3600'], timeoutMs: null });
  for (const [id, content] of [
    ['deploy', 'Deploys run from the release branch, never on a Friday.'],
    ['style', 'Names of people are trimmed before they are stored.'],
  ] as const)
    await client.ingest({ id, content, category: 'project', source: 'notes' });
  await client.runs.run('print(sum(range(101)))', 'python');
  await website.egress.set({ allow: ['registry.npmjs.org'] });
  const reach = (host: string, scheme: string) =>
    `import urllib.request\ntry: urllib.request.urlopen("${scheme}://${host}/", timeout=600)\nexcept Exception as e: print(e)`;
  await website.exec({ argv: ['python3', '-c', reach('telemetry.example', 'https')] });
  await client.chats.post('website', {
    text: 'What happens at signup when somebody leaves the name empty?',
  });
  let isAnswered = false;
  for await (const event of client.chats.events('website')) {
    if (event.type === 'reply') isAnswered = event.isLast;
    if (isAnswered) break;
  }
  const notebook = await client.contexts.open('python', { chat: 'data-report' });
  await notebook.run(
    'rows = [{"city": "Oslo", "people": 717710}, {"city": "Rome", "people": 2755309}, {"city": "Lima", "people": 10092000}]\nrows',
  );
  await notebook.run(plot);
  // A program that waits for a person's answer.
  const asking = sandboxes.of('nightly-tests');
  await asking.egress.ask(true);
  await asking.spawn({ argv: ['python3', '-c', reach('api.github.com', 'https')], timeoutMs: null });
  await eventually(async () => (await client.approvals.list()).length > 0, 'the question', waitMs);
}
