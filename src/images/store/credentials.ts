import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from '../../base/json.ts';
import { absentFile } from './files.ts';

/** A user name and a password or token for one registry. */
interface Credential {
  readonly user: string;
  readonly secret: string;
}

export type Credentials = (registry: string) => Promise<Credential | undefined>;

const configSchema = z.looseObject({
  auths: z.record(z.string(), z.looseObject({ auth: z.string().optional() })).optional(),
  credHelpers: z.record(z.string(), z.string()).optional(),
  credsStore: z.string().optional(),
});
const helperSchema = z.object({ Username: z.string(), Secret: z.string() });
const helperDeadlineMs = 10_000;

/** Credentials saved by `docker login`, in its config file or with a helper program. */
export function dockerCredentials({
  home,
  path,
}: {
  readonly home: string;
  readonly path: string;
}): Credentials {
  return async (registry) => {
    const text = await readFile(join(home, '.docker/config.json'), 'utf8').catch(absentFile);
    const config = configSchema.safeParse(parsedJson(text ?? '') ?? {});
    if (!config.success) return undefined;
    const { auths = {}, credHelpers = {}, credsStore } = config.data;
    const names =
      registry === 'docker.io'
        ? ['https://index.docker.io/v1/', 'docker.io']
        : [registry, `https://${registry}`];
    for (const name of names) {
      const helper = credHelpers[name] ?? (name in auths ? credsStore : undefined);
      const found = helper === undefined ? decoded(auths[name]?.auth) : await fromHelper(helper, name, path);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

function decoded(auth: string | undefined): Credential | undefined {
  if (auth === undefined || auth === '') return undefined;
  const [user = '', ...rest] = Buffer.from(auth, 'base64').toString().split(':');
  return user === '' ? undefined : { user, secret: rest.join(':') };
}

/** `docker-credential-NAME get`, which reads the registry's name from stdin. */
function fromHelper(helper: string, registry: string, path: string): Promise<Credential | undefined> {
  if (!/^[\w.-]+$/.test(helper)) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const options = { timeout: helperDeadlineMs, env: { PATH: path } };
    const child = execFile(`docker-credential-${helper}`, ['get'], options, (error, stdout) => {
      const answer = error === null ? helperSchema.safeParse(parsedJson(stdout) ?? {}) : undefined;
      resolve(answer?.success ? { user: answer.data.Username, secret: answer.data.Secret } : undefined);
    });
    child.stdin?.on('error', () => {}).end(`${registry}\n`);
  });
}
