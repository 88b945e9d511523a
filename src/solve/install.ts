import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { shortenMiddle } from '../base/shorten-middle.ts';
import type { Runs } from '../runs/index.ts';
import { languageOf } from '../runs/languages/index.ts';
import type { EgressSpec } from '../seams/egress.ts';
import type { Limits } from '../seams/limits.ts';
import type { LanguageName } from '../seams/run.ts';
import type { Installation } from '../seams/solve.ts';

const timeoutMs = 180_000;
const mostFiles = 9_000;
const archive = 'packages.tar';

/** Settings with which the code of a run finds the packages. */
export interface Packages {
  readonly files: Readonly<Record<string, Uint8Array>>;
  readonly env: Readonly<Record<string, string>>;
}

interface Installer {
  readonly language: LanguageName;
  readonly code: string;
  readonly env: Packages['env'];
}

/**
 * Installs packages in a separate run, the only one with access to the registry. Its files are copied into the run of
 * the solution, which has no network. Throws `invalid_input` for a language without an installer.
 */
export async function install(
  runs: Runs,
  user: string,
  given: string,
  packages: readonly string[],
  egress: EgressSpec,
  { signal, most }: Cancel & { readonly most?: Limits | undefined },
): Promise<{ readonly installation: Installation; readonly packages: Packages | null }> {
  const { name } = languageOf(given);
  const installer = installers[name];
  if (installer === undefined)
    throw new GeodeError('invalid_input', `Packages cannot be installed for ${name}.`);
  const result = await runs.run(installer.code, installer.language, {
    stdin: JSON.stringify(packages),
    artifacts: [archive],
    timeoutMs,
    egress,
    ...(most && { most }),
    user,
    signal,
  });
  const denied = (result.denied ?? []).map(({ reason }) => reason);
  const files = await unpacked(result.artifacts.find(({ path }) => path === archive)?.bytes);
  const succeeded = result.success && Object.keys(files).length > 0;
  const words = [...new Set(denied), result.stdout, result.stderr].filter((text) => text.trim() !== '');
  return {
    installation: {
      packages,
      succeeded,
      durationMs: result.timings.totalMs,
      output: shortenMiddle(words.join('\n'), 4_000),
    },
    packages: succeeded ? { files, env: installer.env } : null,
  };
}

/** Run by the language's own interpreter: every image of the language has both. */
const pip: Installer = {
  language: 'python',
  code: `
import json, subprocess, sys, tarfile
wanted = json.load(sys.stdin)
pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-cache-dir", "--no-compile",
       "--no-input", "--quiet", "--retries", "1", "--target", "packages", "--", *wanted]
code = subprocess.call(pip)
if code == 0:
    with tarfile.open("${archive}", "w") as file:
        file.add("packages")
sys.exit(code)
`,
  env: { PYTHONPATH: 'packages' },
};

const npm: Installer = {
  language: 'javascript',
  code: `
const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, writeFileSync } = require('node:fs');
const wanted = JSON.parse(readFileSync(0, 'utf8'));
const run = (program, words) => {
  const { status, error } = spawnSync(program, words, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) console.error(error.message);
  if (status !== 0) process.exit(status ?? 1);
};
writeFileSync('package.json', '{}');
const cache = mkdtempSync('.npm-');
run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-bin-links', '--no-update-notifier',
  '--fetch-retries=1', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=2000',
  '--cache', cache, '--', ...wanted]);
run('tar', ['-cf', '${archive}', 'node_modules']);
`,
  env: {},
};

const installers: Partial<Record<LanguageName, Installer>> = {
  python: pip,
  javascript: npm,
  typescript: npm,
};

/** Plain files only. The run that receives them checks where they may be written. */
async function unpacked(bytes: Uint8Array | undefined): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  if (bytes === undefined) return files;
  const entries = extract();
  entries.end(bytes);
  for await (const entry of entries) {
    const content = await buffer(entry);
    if (entry.header.type !== 'file') continue;
    files[entry.header.name] = content;
    if (Object.keys(files).length > mostFiles)
      throw new GeodeError('too_large', `The packages have more than ${mostFiles} files.`);
  }
  return files;
}
