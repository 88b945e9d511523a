import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The imports of each folder. A folder stands above everything that it imports. */
const allowed: Readonly<Record<string, string>> = {
  'index.ts': 'base config host machine sandboxes seams shell',
  dashboard: 'base client config contract runs sandboxes seams',
  cli: 'agents base client config contract host machine mcp package.json seams',
  host: 'agents api approvals base chat client config contract doors egress identity images journals ledger link machine mcp memory models pool previews runs runtimes sandboxes seams solve telemetry webhooks',
  mcp: 'api base client ledger seams',
  client: 'base contract journals runs sandboxes seams',
  doors: 'api base egress journals ledger memory previews runs sandboxes seams',
  api: 'base chat config contract egress identity journals memory previews runs runtimes sandboxes seams solve',
  chat: 'base ledger seams',
  agents: 'base journals ledger machine models package.json seams shell solve',
  solve: 'base ledger runs seams',
  images: 'base ledger seams',
  approvals: 'base ledger seams',
  previews: 'base egress seams',
  webhooks: 'base contract egress ledger seams',
  telemetry: 'base seams',
  egress: 'base contract ledger seams',
  memory: 'base ledger seams',
  models: 'base ledger seams',
  shell: 'base seams',
  runs: 'base journals ledger link pool seams',
  identity: 'base contract ledger',
  sandboxes: 'base journals ledger machine pool runtimes seams',
  pool: 'base machine seams',
  journals: 'base link seams',
  runtimes: 'base link seams',
  contract: 'base config seams',
  ledger: 'base machine seams',
  link: 'base seams',
  config: 'base machine seams',
  machine: 'base',
  seams: 'base',
  base: '',
  'package.json': '',
};

/** These run in a browser too: of the host's own parts they take types, which are gone when the code runs. */
const browserSafe = {
  contract: ['base', 'config', 'seams'],
  client: ['base', 'contract', 'seams'],
  dashboard: ['base', 'contract', 'client', 'seams'],
};

describe('imports between folders', () => {
  const imports = sources().flatMap(importsOf);
  const across = imports.filter(({ from, to }) => folderOf(from) !== folderOf(to));

  it('match the table of allowed imports', () => {
    const found: Record<string, Set<string>> = { 'package.json': new Set() };
    for (const file of sources()) found[folderOf(file)] ??= new Set();
    for (const { from, to } of across) found[folderOf(from)]?.add(folderOf(to));
    const lines = Object.entries(found).map(([name, folders]) => [name, [...folders].sort().join(' ')]);
    expect(Object.fromEntries(lines)).toEqual(allowed);
  });

  it('go one way', () => {
    const order = Object.keys(allowed);
    const wrong = Object.entries(allowed).filter(([name, folders]) =>
      folders.split(' ').some((each) => each !== '' && order.indexOf(each) <= order.indexOf(name)),
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

  it('load the host only when a command needs one in its own process', () => {
    const atOnce = across.filter(
      ({ from, to, isType, isLazy }) =>
        folderOf(from) === 'cli' && folderOf(to) === 'host' && !isType && !isLazy,
    );
    expect(atOnce).toEqual([]);
  });

  it('are found in every syntax form', () => {
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
    expect(importsIn(text).flatMap(({ target, isLazy }) => (isLazy ? [target] : []))).toEqual([
      './g.ts',
      './h.ts',
      './j.ts',
    ]);
  });

  it('have a literal path', () => {
    const computed = sources().filter((file) => /\bimport\(\s*(?:\/\*.*?\*\/\s*)?[^\s'"`/]/.test(read(file)));
    expect(computed).toEqual([]);
  });
});

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
  /** Loaded when the code that names it runs. */
  readonly isLazy: boolean;
}

function importsOf(from: string): Import[] {
  return importsIn(read(from)).map(({ target, ...form }) => ({
    from,
    to: join(dirname(from), target),
    ...form,
  }));
}

/** Finds imports of this project's own files: static, for side effects, dynamic, and as the URL of a worker. */
function importsIn(
  text: string,
): { readonly target: string; readonly isType: boolean; readonly isLazy: boolean }[] {
  const forms =
    /(?:\b(?:im|ex)port(?<type> type)?\s[^'"`;]*?\bfrom\s*|\bimport\s*\(?\s*(?:\/\*.*?\*\/\s*)?|\bnew URL\(\s*)(?<quote>['"`])(?<target>\.{1,2}\/[^'"`]+\.(?:tsx?|json))\k<quote>/g;
  return [...text.matchAll(forms)].map(({ 0: form, groups }) => ({
    target: groups?.target ?? '',
    isType: groups?.type !== undefined,
    isLazy: /^import\s*\(/.test(form),
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

function folderOf(file: string): string {
  const [first = '', second = ''] = relative('src', file).split('/');
  return first === '..' ? second : first;
}
