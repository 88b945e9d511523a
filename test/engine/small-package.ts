/** The package of Geode without its pages and types, in a version of the test's choice, which takes seconds to build. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleInto } from '../../scripts/bundle-package.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The changes of another version, by file: each text is replaced by another. */
export type Changes = Readonly<Record<string, readonly (readonly [was: string, is: string])[]>>;

export async function buildSmallPackage(
  folder: string,
  version: string,
  changes: Changes = {},
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const own = JSON.stringify(packageVersion());
  const all: Changes = { ...changes, 'package.json': [[`"version": ${own}`, `"version": "${version}"`]] };
  const left = new Set(Object.keys(all));
  const change = {
    name: 'another-version',
    enforce: 'pre' as const,
    transform(code: string, id: string) {
      const found = Object.entries(all).find(([file]) => id === join(root, file));
      if (found === undefined) return null;
      left.delete(found[0]);
      return found[1].reduce((text, [was, is]) => {
        if (!text.includes(was)) throw new Error(`${found[0]} has no ${was}`);
        return text.replace(was, is);
      }, code);
    },
  };
  await bundleInto(join(folder, 'dist'), ['src/cli/main.ts'], [change]);
  if (left.size > 0) throw new Error(`not in the bundle: ${[...left].join()}`);
  for (const name of ['bin', 'images', 'guest/dist', 'LICENSE'])
    if (existsSync(join(root, name))) cpSync(join(root, name), join(folder, name), { recursive: true });
  const manifest = {
    ...{ name: 'geode-home', version, type: 'module', license: 'Apache-2.0' },
    bin: { geode: 'bin/geode.js' },
    files: ['bin', 'dist', 'guest', 'images'],
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest)}\n`);
}

function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return version;
}
