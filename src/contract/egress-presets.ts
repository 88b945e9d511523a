import type { EgressRule } from '../seams/egress.ts';

/** Package registries by name: every host that their client connects to. */
const hostsByPreset = {
  npm: ['registry.npmjs.org', 'registry.yarnpkg.com', 'nodejs.org'],
  pypi: ['pypi.org', 'files.pythonhosted.org'],
  debian: [
    'deb.debian.org',
    'security.debian.org',
    'ftp.debian.org',
    'archive.ubuntu.com',
    'security.ubuntu.com',
  ],
  go: ['proxy.golang.org', 'sum.golang.org', 'storage.googleapis.com', 'go.dev', 'dl.google.com'],
  crates: ['crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org'],
  maven: ['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'services.gradle.org'],
  github: [
    'github.com',
    'api.github.com',
    'codeload.github.com',
    'raw.githubusercontent.com',
    'objects.githubusercontent.com',
    'release-assets.githubusercontent.com',
  ],
  huggingface: ['huggingface.co', '*.huggingface.co', '*.hf.co'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export const presetNames = Object.keys(hostsByPreset);

/** Undefined if the word is not a preset. */
export function presetRules(name: string): readonly EgressRule[] | undefined {
  const known: Readonly<Record<string, readonly string[]>> = hostsByPreset;
  if (!Object.hasOwn(known, name)) return undefined;
  return known[name]?.map((host) => ({ host, from: name }));
}
