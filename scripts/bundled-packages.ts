/** Which packages a bundle holds, and what their authors ask to be passed on with them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { z } from 'zod';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The file below the output of a build that names the folders of the packages in it. */
export const packagesFile = '.vite/packages.json';

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The texts of its licence and notice files. */
  readonly texts: readonly string[];
}

/**
 * Writes `packagesFile` beside what a build makes. `watched` are the sources whose change leads to a new build: the build
 * fails when it reads another one.
 */
export function recordPackages(watched?: readonly string[]): Plugin {
  return {
    name: 'geode-record-packages',
    generateBundle(_, output) {
      const modules = Object.values(output).flatMap((part) =>
        part.type === 'chunk' ? part.moduleIds : part.originalFileNames.flatMap(installedPath),
      );
      const sources = modules
        .map((id) => relative(root, id))
        .filter((path) => /^(src|dashboard)\//.test(path));
      const unwatched = sources.find((path) => watched?.includes(path.replace(/\?.*/, '')) === false);
      if (unwatched !== undefined)
        throw new Error(`${unwatched} is in the bundle, but its change would not lead to a new one.`);
      this.emitFile({ type: 'asset', fileName: packagesFile, source: JSON.stringify(foldersOf(modules)) });
    },
  };
}

/** Fonts and other files of packages are assets, which are named from the root of the build. */
function installedPath(name: string): readonly string[] {
  const at = name.indexOf('node_modules/');
  return at === -1 ? [] : [join(root, name.slice(at))];
}

export function readPackages(file: string): string[] {
  return z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** The folders of the packages that modules belong to, from the root of the clone. */
function foldersOf(modules: readonly string[]): string[] {
  const folders = modules.map(
    (id) => /^(?:\0)?(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(relative(root, id.replace('\0', '')))?.[1],
  );
  return [...new Set(folders)].filter((folder) => folder !== undefined).sort();
}

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
  // Older packages have a list.
  licenses: z.array(z.object({ type: z.string() })).optional(),
});

/** In the order of their names. Two versions of a package are two. */
export function describePackages(folders: Iterable<string>): BundledPackage[] {
  const described = [...new Set(folders)].map((folder) => {
    const path = join(root, folder);
    const { name, version, license, licenses } = manifestSchema.parse(
      JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')),
    );
    const licence = license ?? licenses?.map(({ type }) => type).join(' OR ') ?? 'unknown';
    return { name, version, licence, texts: licenceTexts(path) };
  });
  const unique = new Map(described.map((each) => [`${each.name}@${each.version}`, each]));
  return [...unique.values()].sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1));
}

function licenceTexts(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^(licen[cs]e|copying|notice|third.?party)/i.test(name) && !/\.(c|m)?[jt]s$/.test(name))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8').trim());
}

/** Each text once, below the packages that it belongs to. The other parts bring their texts themselves. */
export function licencesDocument(
  packages: readonly BundledPackage[],
  others: readonly Part[],
  more: ReadonlyMap<string, string>,
): string {
  const byText = new Map<string, string[]>();
  const add = (text: string, name: string) => byText.set(text, [...(byText.get(text) ?? []), name]);
  for (const { name, version, licence, texts } of packages)
    for (const text of texts.length > 0
      ? texts
      : [`Its licence is ${licence}; the package has no text of it.`])
      add(text, `${name} ${version}`);
  for (const [name, text] of more) add(text, name);
  const rows = [...packages, ...others].map(
    ({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`,
  );
  const chapters = [...byText].map(
    ([text, names]) => `## ${names.join(', ')}\n\n\`\`\`text\n${text}\n\`\`\`\n`,
  );
  return `# Licences of what Geode holds\n\n| package | version | licence |\n| --- | --- | --- |\n${rows.join('\n')}\n\n${chapters.join('\n')}`;
}

interface Named {
  readonly name: string;
  readonly version: string;
}

/** The packages that Geode contains. Parts that are no package of a bundle say where they come from. */
export interface Part extends Named {
  readonly licence: string;
  readonly purl?: string;
  /** npm installs it beside Geode, and only where it fits. */
  readonly isOptional?: boolean;
}

/** A CycloneDX list of the parts. */
export function partsList({ name, version }: Named, parts: readonly Part[]): object {
  const own = { name, version, purl: purlOf({ name, version }) };
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': own.purl, ...own } },
    components: parts.map((part) => ({
      type: 'library',
      'bom-ref': purlOf(part),
      name: part.name,
      version: part.version,
      purl: purlOf(part),
      ...(part.isOptional && { scope: 'optional' }),
      licenses: [{ expression: part.licence }],
    })),
    dependencies: [{ ref: own.purl, dependsOn: parts.map(purlOf) }],
  };
}

function purlOf({ name, version, purl }: Named & Pick<Part, 'purl'>): string {
  return purl ?? `pkg:npm/${name.replace('@', '%40')}@${version}`;
}
