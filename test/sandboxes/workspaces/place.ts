import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programPath } from '../../../scripts/build-guest.ts';
import type { Change, WorkspacePlace } from '../../../src/seams/snapshots.ts';

export const root = process.getuid?.() === 0;

export interface TestPlace extends WorkspacePlace, Disposable {
  /** The folder that holds both. */
  readonly above: string;
}

/** A workspace with nothing in it, without any sandbox. */
export function newPlace(above: string = mkdtempSync(join(tmpdir(), 'geode-workspace-'))): TestPlace {
  const workspace = join(above, 'workspace');
  mkdirSync(workspace, { recursive: true, mode: 0o700 });
  return {
    above,
    workspace,
    folder: join(above, 'snapshots'),
    program: programPath('workspace'),
    owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    // Not Node's rm: some of these trees are deeper than a path can be long.
    [Symbol.dispose]: () => {
      execFileSync('chmod', ['-R', 'u+rwx', above], { stdio: 'ignore' });
      execFileSync('rm', ['-rf', above]);
    },
  };
}

/** Everything that a snapshot promises to keep of a folder, by `find`: its own eyes, not ours. */
export function treeOf(folder: string, { owners = true, times = true } = {}): readonly string[] {
  const facts = ['%P', '%y', '%m', owners ? '%U:%G' : '', times ? '%T@' : '', '%l'];
  const found = execFileSync('find', [folder, '-printf', facts.map((fact) => `${fact}\\0`).join('')], {
    encoding: 'latin1',
    maxBuffer: 1024 ** 3,
  }).split('\0');
  const lines: string[] = [];
  for (let at = 0; at + facts.length <= found.length; at += facts.length) {
    const [path = '', type = '', ...rest] = found.slice(at, at + facts.length);
    const content =
      type === 'f' ? hashOf(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(path, 'latin1')])) : '';
    lines.push([path, type, ...rest, content].join(' | '));
  }
  return lines.sort();
}

function hashOf(path: Buffer): string {
  return createHash('sha1').update(readFileSync(path)).digest('hex');
}

/** A shell in a folder, to make what Node's paths cannot. */
export function shell(folder: string, script: string): string {
  return execFileSync('bash', ['-euc', script], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

export async function all(changes: AsyncIterable<Change>): Promise<readonly Change[]> {
  const seen: Change[] = [];
  for await (const change of changes) seen.push(change);
  return seen;
}

/** Short, for comparisons: `added a/b`. */
export async function told(changes: AsyncIterable<Change>): Promise<readonly string[]> {
  return (await all(changes)).map(({ change, path }) => `${change} ${path}`);
}
