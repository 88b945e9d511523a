import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { commandList } from '../scripts/command-list.ts';
import { commandsDocument } from '../scripts/commands-document.ts';
import { configurationDocument, documentedSettings } from '../scripts/configuration-document.ts';
import { errorsDocument } from '../scripts/errors-document.ts';
import { hostSeccomp } from '../scripts/host-seccomp.ts';
import { openApiDocument } from '../scripts/openapi-document.ts';
import { operationTable } from '../scripts/operation-table.ts';
import { loadConfig } from '../src/config/load.ts';
import { thisMachine } from '../src/machine/machine.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('documents', () => {
  it('OPS-6: docs/commands.md equals the table of commands', async () => {
    const written = readFileSync(join(root, 'docs/commands.md'), 'utf8');
    expect(written, 'run npm run docs').toBe(await commandsDocument());
  });

  it('the list of commands matches the files of the commands', async () => {
    const written = readFileSync(join(root, 'src/cli/command-list.ts'), 'utf8');
    expect(written, 'run npm run docs').toBe(await commandList());
  }, 60_000);

  it('OPS-6: docs/errors.md equals the catalogue', () => {
    expect(readFileSync(join(root, 'docs/errors.md'), 'utf8'), 'run npm run docs').toBe(errorsDocument());
  });

  it('OPS-6: docs/configuration.md equals the schema of the config', () => {
    const written = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
    expect(written, 'run npm run docs').toBe(configurationDocument());
  });

  it('the config takes the example and the variable of every setting in docs/configuration.md', async () => {
    const machine = thisMachine({ HOME: '/home/you', PATH: '/usr/bin' });
    const settings = documentedSettings();
    expect(settings.map(({ name }) => name)).toEqual(
      (await loadConfig(machine)).settings.map(({ name }) => name),
    );
    for (const { name, variable, example } of settings) {
      const overrides = { [variable]: JSON.stringify(example) };
      const { settings: loaded } = await loadConfig({ ...machine, overrides });
      const source = loaded.find((setting) => setting.name === name)?.source;
      expect(source, name).toEqual({ from: 'variable', name: variable });
    }
  });

  it('the table of the client matches the declarations', () => {
    const written = readFileSync(join(root, 'src/client/operation-table.ts'), 'utf8');
    expect(written, 'run npm run docs').toBe(operationTable());
  });

  it('deploy/seccomp.json equals the profile for a host in a container', () => {
    const written = readFileSync(join(root, 'deploy/seccomp.json'), 'utf8');
    expect(written, 'run npm run docs').toBe(hostSeccomp());
  });

  it('OPS-6: docs/openapi.json equals the document of a host', async () => {
    const written = readFileSync(join(root, 'docs/openapi.json'), 'utf8');
    expect(JSON.parse(written), 'run npm run docs').toEqual(JSON.parse(await openApiDocument()));
  }, 60_000);

  it('every link and every path in a document exists', () => {
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

  // Environment variables of a library may be set where the library is loaded.
  it('only machine/machine.ts reads the environment and the platform', () => {
    const readers = sources().filter(
      (file) =>
        file !== 'machine/machine.ts' &&
        /[^'"`/\\]\bprocess\.(env|platform|arch)\b(?!\.\w+ = )/.test(read(file)),
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
