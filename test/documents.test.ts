import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { commandsDocument } from '../scripts/commands-document.ts';
import { errorsDocument } from '../scripts/errors-document.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Each layer may import from those after it, and from itself. */
const layers = [
  'cli',
  'host',
  'mcp',
  'client',
  'app.ts',
  'api',
  'chat',
  'agents',
  'solve',
  'config',
  'models',
  'previews',
  'egress',
  'shell',
  'memory',
  'images',
  'runs',
  'sandboxes',
  'pool',
  'journals',
  'runtimes',
  'approvals',
  'ledger',
  'link',
  'core',
];

describe('documents and layers', () => {
  it('docs/commands.md is what the table of commands says', async () => {
    const written = readFileSync(join(root, 'docs/commands.md'), 'utf8');
    expect(written, 'run npm run docs').toBe(await commandsDocument());
  });

  it('docs/errors.md is what the catalogue says', () => {
    expect(readFileSync(join(root, 'docs/errors.md'), 'utf8'), 'run npm run docs').toBe(errorsDocument());
  });

  it('every link and every path in a document leads somewhere', () => {
    const dead = documents().flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]+)/g)].map((match) =>
        join(dirname(file), match[1] ?? ''),
      );
      const paths = [...text.matchAll(/`((?:src|guest|test|docs|examples|scripts|bench)\/[\w./-]+)`/g)];
      return [...links, ...paths.map((match) => match[1] ?? '')]
        .filter((target) => !existsSync(join(root, target)))
        .map((target) => `${file} → ${target}`);
    });
    expect(dead).toEqual([]);
  });

  it('imports go one way', () => {
    const wrong = sources().flatMap((file) => {
      const from = layerOf(file);
      return importsOf(file)
        .filter((target) => layers.indexOf(layerOf(target)) < layers.indexOf(from))
        .map((target) => `${file} → ${target}`);
    });
    expect(wrong).toEqual([]);
  });

  it('every folder and file of src has its place among the layers', () => {
    const places = readdirSync(join(root, 'src')).filter((name) => name !== 'index.ts');
    expect(places.filter((name) => !layers.includes(name))).toEqual([]);
  });

  // What a library looks for in the environment may be set where the library is loaded.
  it('only config/host reads the environment and the platform', () => {
    const readers = sources().filter(
      (file) =>
        file !== 'config/host.ts' && /[^'"`/\\]\bprocess\.(env|platform|arch)\b(?!\.\w+ = )/.test(read(file)),
    );
    expect(readers).toEqual([]);
  });
});

function documents(): readonly string[] {
  const below = (folder: string) =>
    readdirSync(join(root, folder), { recursive: folder !== '', encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name));
  return [...below(''), ...below('docs')];
}

function sources(): readonly string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
}

function read(file: string): string {
  return readFileSync(join(root, 'src', file), 'utf8');
}

function importsOf(file: string): readonly string[] {
  const here = join(root, 'src', file, '..');
  return [...read(file).matchAll(/(?:from|import) ?\(?'(\.[^']+\.ts)'/g)].map((match) =>
    relative(join(root, 'src'), join(here, match[1] ?? '')),
  );
}

function layerOf(file: string): string {
  return file.split('/')[0] ?? '';
}
