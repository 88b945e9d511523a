import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What each folder imports of the others. A folder stands above everything that it imports. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'index.ts': ['app.ts', 'config', 'core', 'sandboxes', 'shell'],
  dashboard: ['api/schemas', 'client', 'config', 'core', 'runs', 'sandboxes'],
  cli: [
    ...['agents', 'api', 'api/schemas', 'app.ts', 'client', 'config', 'core', 'egress', 'host', 'journals'],
    ...['ledger', 'link', 'mcp', 'memory', 'package.json', 'runs', 'runtimes', 'sandboxes', 'shell', 'solve'],
  ],
  host: [
    ...['agents', 'api', 'app.ts', 'approvals', 'chat', 'client', 'config', 'core', 'egress', 'images'],
    ...['ledger', 'link', 'mcp', 'models', 'pool', 'previews', 'runs', 'runtimes', 'sandboxes', 'solve'],
  ],
  'app.ts': [
    ...[
      'agents',
      'config',
      'core',
      'egress',
      'journals',
      'ledger',
      'memory',
      'runs',
      'runtimes',
      'sandboxes',
    ],
  ],
  mcp: ['api', 'client', 'core', 'ledger', 'memory'],
  client: ['api/schemas', 'config', 'core', 'journals', 'runs', 'sandboxes'],
  api: [
    ...[
      'api/schemas',
      'chat',
      'config',
      'core',
      'egress',
      'journals',
      'ledger',
      'previews',
      'runs',
      'runtimes',
    ],
    ...['sandboxes', 'solve'],
  ],
  'api/schemas': ['config', 'core'],
  chat: ['core', 'ledger'],
  agents: ['config', 'core', 'egress', 'journals', 'ledger', 'models', 'package.json', 'shell', 'solve'],
  solve: ['core', 'ledger', 'runs'],
  images: ['core', 'ledger'],
  approvals: ['core', 'ledger'],
  previews: ['core', 'egress'],
  egress: ['core', 'ledger'],
  memory: ['core', 'ledger'],
  models: ['core', 'ledger'],
  shell: ['core'],
  runs: ['core', 'journals', 'ledger', 'link', 'pool'],
  sandboxes: ['core', 'journals', 'ledger', 'pool', 'runtimes'],
  pool: ['core', 'ledger'],
  journals: ['core', 'link'],
  runtimes: ['core', 'link'],
  ledger: ['core'],
  link: ['core'],
  config: ['core'],
  core: [],
  'package.json': [],
};

/** These run in a browser too: of the host's own parts they take types, which are gone when the code runs. */
const browserSafe = {
  'api/schemas': ['config', 'core'],
  client: ['api/schemas', 'core'],
  dashboard: ['api/schemas', 'client', 'core'],
};

describe('imports between folders', () => {
  const imports = sources().flatMap(importsOf);
  const across = imports.filter(({ from, to }) => folderOf(from) !== folderOf(to));

  it('are those of the table', () => {
    const found: Record<string, string[]> = {};
    for (const name of sources().map(folderOf)) found[name] ??= [];
    for (const { from, to } of across) found[folderOf(from)]?.push(folderOf(to));
    for (const [name, folders] of Object.entries(found)) found[name] = [...new Set(folders)].sort();
    expect({ ...found, 'package.json': [] }).toEqual(allowed);
  });

  it('go one way', () => {
    const order = Object.keys(allowed);
    const wrong = Object.entries(allowed).flatMap(([name, folders]) =>
      folders.filter((each) => order.indexOf(each) <= order.indexOf(name)).map((each) => `${name} → ${each}`),
    );
    expect(wrong).toEqual([]);
  });

  it('bring no code of the host into a browser', () => {
    const wrong = across.filter(({ from, to, isType }) => {
      const safe = Object.entries(browserSafe).find(([name]) => name === folderOf(from))?.[1];
      return safe !== undefined && !isType && !safe.includes(folderOf(to));
    });
    expect(wrong).toEqual([]);
  });

  it('are seen in every form', () => {
    const text = `
      import a from './a.ts';
      import type { B } from "./b.ts";
      import {
        c,
      } from './c.ts';
      import './d.ts';
      export * from './e.ts';
      export type { F } from './f.ts';
      const g = await import('./g.ts');
      const h = import(
        /* webpackIgnore */ \`./h.ts\`
      );
      new Worker(new URL('./i.ts', import.meta.url));
      type J = import('./j.ts').J;`;
    expect(importsIn(text).map(({ target }) => target)).toEqual(
      [...'abcdefghij'].map((name) => `./${name}.ts`),
    );
    expect(importsIn(text).flatMap(({ target, isType }) => (isType ? [target] : []))).toEqual([
      './b.ts',
      './f.ts',
    ]);
  });

  it('name what they import', () => {
    const computed = sources().filter((file) => /\bimport\(\s*(?:\/\*.*?\*\/\s*)?[^\s'"`/]/.test(read(file)));
    // The text of a program that runs in a sandbox.
    expect(computed).toEqual(['src/solve/harness.ts']);
  });
});

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

function importsOf(from: string): Import[] {
  return importsIn(read(from)).map(({ target, isType }) => ({
    from,
    to: join(dirname(from), target),
    isType,
  }));
}

/** Of this project's own files: static, for side effects, dynamic, and as the URL of a worker. */
function importsIn(text: string): { readonly target: string; readonly isType: boolean }[] {
  const forms =
    /(?:\b(?:im|ex)port(?<type> type)?\s[^'"`;]*?\bfrom\s*|\bimport\s*\(?\s*(?:\/\*.*?\*\/\s*)?|\bnew URL\(\s*)(?<quote>['"`])(?<target>\.{1,2}\/[^'"`]+\.(?:tsx?|json))\k<quote>/g;
  return [...text.matchAll(forms)].map(({ groups }) => ({
    target: groups?.target ?? '',
    isType: groups?.type !== undefined,
  }));
}

function sources(): string[] {
  return ['src', 'dashboard/src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(folder, name)),
  );
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** The schemas are a folder of their own: they are the part of the API that its clients share. */
function folderOf(file: string): string {
  const [first = '', second = ''] = relative('src', file).split('/');
  if (first !== '..') return first === 'api' && second === 'schemas' ? 'api/schemas' : first;
  return second;
}
