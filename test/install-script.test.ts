import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { lockedNode } from '../scripts/build-node-package.ts';

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const text = readFileSync(path('install.sh'), 'utf8');
const hasShellcheck = spawnSync('shellcheck', ['--version']).status === 0;

it.skipIf(!hasShellcheck)(
  `shellcheck has nothing to say about install.sh${hasShellcheck ? '' : ' (skipped: it is not installed)'}`,
  () => {
    expect(execFileSync('shellcheck', [path('install.sh')], { encoding: 'utf8' })).toBe('');
  },
);

it('install.sh fetches the Node of package-lock.json and the npm of the images, with their hashes', () => {
  const of = (name: string, from = text) => new RegExp(`^ *${name}=(\\S+)$`, 'm').exec(from)?.[1];
  for (const architecture of ['x64', 'arm64'] as const) {
    const { version, integrity } = lockedNode(architecture);
    expect(of('node_version')).toBe(version);
    const hex = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex');
    expect(text).toContain(`arch=${architecture}\n    node_hash=${hex}\n`);
  }
  const image = readFileSync(path('images/agent/node.sh'), 'utf8');
  for (const name of ['npm_version', 'npm_hash']) expect(of(name)).toBe(of(name, image));
});
