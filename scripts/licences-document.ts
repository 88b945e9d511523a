import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      license: z.string().optional(),
      dev: z.boolean().optional(),
      devOptional: z.boolean().optional(),
      hasInstallScript: z.boolean().optional(),
    }),
  ),
});

export interface Dependency {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** It has a script that npm would run at its installation. */
  readonly hasInstallScript: boolean;
}

/** What comes with Geode when it is installed, by the lock file. */
export function dependenciesOf(root: string): readonly Dependency[] {
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  return Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true)
    .map(([path, { version = '', license, hasInstallScript = false }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      licence: license ?? licenceIn(join(root, path)),
      hasInstallScript,
    }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** Where the lock file does not say it. */
function licenceIn(folder: string): string {
  // Older packages have a list.
  const schema = z.object({
    license: z.string().optional(),
    licenses: z.array(z.object({ type: z.string() })).optional(),
  });
  try {
    const { license, licenses } = schema.parse(
      JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')),
    );
    return license ?? licenses?.map(({ type }) => type).join(' or ') ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

export function licencesDocument(root: string): string {
  const rows = dependenciesOf(root).map(
    ({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`,
  );
  return `# Licences of what Geode depends on\n\n| package | version | licence |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
}
