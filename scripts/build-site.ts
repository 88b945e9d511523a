/**
 * Builds the documentation into site/dist: `npm run site`. The pages are those of `docs/` and a few at the root of the
 * clone. The build fails when a link leads nowhere.
 */
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { siteConfig } from '../site/config.ts';
import { rootPages, type Section, sections } from '../site/pages.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface SitePage {
  /** Its path on the site: `guides/team.md`. */
  readonly path: string;
  readonly title: string;
  /** The first sentence: what the reader can do with the page. */
  readonly summary: string;
  readonly text: string;
}

/** Every page, with links as they are on the site. */
export function sitePages(): readonly SitePage[] {
  const sources = [
    ...globSync('**/*.md', { cwd: join(root, 'docs') }).map((path) => [path, join('docs', path)] as const),
    ...rootPages.map((path) => [path, path] as const),
  ];
  const pages = sources
    .sort()
    .map(([path, file]) => pageOf(path, file, readFileSync(join(root, file), 'utf8')));
  return [...pages, decisionsPage(pages)];
}

function pageOf(path: string, file: string, text: string): SitePage {
  return {
    path,
    title: /^# (.+)$/m.exec(text)?.[1] ?? basename(path, '.md'),
    summary: summaryOf(text),
    text: linksOfSite(text, file),
  };
}

function decisionsPage(pages: readonly SitePage[]): SitePage {
  const lines = pages
    .filter(({ path }) => path.startsWith('decisions/'))
    .map(({ path, title }) => `- [${title}](${basename(path)})`);
  const file = 'decisions/index.md';
  const summary = 'Find out why Geode is built as it is: what was measured, and what was rejected.';
  return pageOf(file, `docs/${file}`, `# Decisions\n\n${summary}\n\n${lines.join('\n')}\n`);
}

function summaryOf(text: string): string {
  const paragraph = text.split('\n\n').find((part, index) => index > 0 && /^[A-Z[*`]/.test(part)) ?? '';
  return paragraph.replaceAll('\n', ' ').replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

/** A link to a page of the site is one between pages; a link to a source file becomes its name. */
function linksOfSite(text: string, file: string): string {
  return text.replace(/(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)/g, (whole, image, label, link) => {
    const [path = '', anchor] = link.split('#');
    const place = join(dirname(file), path);
    const page = place.startsWith('docs/') ? place.slice('docs/'.length) : place;
    if (image === '!') return whole;
    if (examples.test(place)) return `[${label}](/${place}){target="_self"}`;
    if (!place.startsWith('docs/') && !rootPages.includes(place)) return label;
    const target = page.endsWith('/') ? `${page}index.md` : page;
    return `[${label}](/${target}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}

const examples = /^examples\/[\w.-]+$/;

/** For language models and search engines: what each page is for. */
export function llmsText(pages: readonly SitePage[]): string {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const parts = sectionsOf(pages).flatMap(({ title, pages: paths }) => [
    `## ${title}`,
    '',
    ...paths.map((path) => {
      const page = byPath.get(path);
      return `- [${page?.title}](/docs/${path}): ${page?.summary}`;
    }),
    '',
  ]);
  return [
    '# Geode',
    '',
    '> A self-hosted home for AI agents. Each agent works in a sealed sandbox on your own machine, and reaches nothing that you did not allow. Install: `npm install -g geode-home`. Command: `geode` (never `npx geode`, which is another package).',
    '',
    ...parts,
    '## API',
    '',
    '- [OpenAPI document](/openapi.json): every path of the HTTP API.',
    '- [Skill for coding agents](/docs/SKILL.md): how to use Geode from an agent.',
    '',
  ].join('\n');
}

/** Returns the folder with the built files. */
export async function buildSite(outDir = join(root, 'site/dist')): Promise<string> {
  const pages = sitePages();
  mkdirSync(join(root, 'build'), { recursive: true });
  const made = mkdtempSync(join(root, 'build/site-'));
  try {
    for (const { path, text } of pages) write(join(made, path), text);
    const open = join(made, 'public');
    for (const { path, text } of pages) write(join(open, path), text);
    write(join(open, 'llms.txt'), llmsText(pages));
    cpSync(join(root, 'docs/pictures'), join(made, 'pictures'), { recursive: true });
    for (const file of globSync('docs/*.svg', { cwd: root }))
      cpSync(join(root, file), join(made, basename(file)));
    for (const file of globSync('examples/*', { cwd: root })) cpSync(join(root, file), join(open, file));
    writeConfig(made, pages);
    const { build } = await import('vitepress');
    // VitePress asks the environment whether it builds for people; a test run has its own.
    const { NODE_ENV } = process.env;
    process.env.NODE_ENV = 'production';
    try {
      await build(made, { outDir });
    } finally {
      if (NODE_ENV === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = NODE_ENV;
    }
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
  return outDir;
}

/** The sections of the site, with a last one for pages that are in none. */
function sectionsOf(pages: readonly SitePage[]): readonly Section[] {
  const listed = sections.flatMap(({ pages: paths }) => paths);
  const exists = pages.map(({ path }) => path);
  const missing = listed.filter((path) => !exists.includes(path));
  if (missing.length > 0)
    throw new Error(`site/pages.ts names pages that are not there: ${missing.join(', ')}`);
  const others = exists.filter((path) => !listed.includes(path) && !/^decisions\/\d/.test(path));
  return others.length === 0 ? sections : [...sections, { title: 'More', pages: others }];
}

function writeConfig(made: string, pages: readonly SitePage[]): void {
  const titles = Object.fromEntries(pages.map(({ path, title }) => [path, title]));
  const config = siteConfig(sectionsOf(pages), (page) => titles[page] ?? page);
  const recorder = pathToFileURL(join(root, 'scripts/bundled-packages.ts')).href;
  const lines = [
    `const { recordPackages } = await import(${JSON.stringify(recorder)});`,
    `const config = ${JSON.stringify(config)};`,
    'export default { ...config, vite: { plugins: [recordPackages()] } };',
  ];
  write(join(made, '.vitepress/config.mjs'), lines.join('\n'));
  // Without the theme's own fonts: the site loads faster, and the package stays small.
  write(join(made, '.vitepress/theme/index.mjs'), "export { default } from 'vitepress/theme-without-fonts';");
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

if (import.meta.main) {
  try {
    console.log(await buildSite());
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
