import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { type Cancel, within } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import type { Config } from '../config/schema.ts';
import { programsFolder } from '../runtimes/oci/program.ts';

/**
 * A commit that Go's own tools can build; most of gVisor's need Bazel. The sum covers every file of the module, and its
 * `go.sum` those of the modules that it needs.
 */
const gvisor = {
  module: 'gvisor.dev/gvisor',
  version: 'v0.0.0-20260905035102-160fafc42237',
  sum: 'h1:AU5+CtCvnBnxdZRNcZt1NfSLqgkXZVT3N/u6u1aXg44=',
};
export const gvisorVersion = gvisor.version;

const buildDeadlineMs = 30 * 60_000;
const largestOutput = 16 * 1024 ** 2;

/** The variables with which Go finds its modules and keeps its caches. */
const goVariables = [
  'HOME',
  'GOPATH',
  'GOCACHE',
  'GOMODCACHE',
  'GOPROXY',
  'GOSUMDB',
  'GONOSUMDB',
  'GOPRIVATE',
  'GOINSECURE',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];

interface InstallOptions extends Cancel {
  /** Gets the program `runsc`. */
  readonly folder: string;
  readonly path: string;
  readonly variable: (name: string) => string | undefined;
  readonly onStep?: (step: string) => void;
}

export interface InstalledProgram {
  readonly program: string;
  readonly version: string;
}

/**
 * Builds gVisor's `runsc` with Go and puts it into a folder in one step. Throws `runtime_unavailable` without Go, and
 * `build_failed` with Go's own message.
 */
export async function installGvisor(options: InstallOptions): Promise<InstalledProgram> {
  const { folder, path, variable, onStep = () => {}, signal } = options;
  const named = goVariables.map((name) => [name, variable(name)]).filter(([, value]) => value !== undefined);
  const deadline = { ms: buildDeadlineMs, what: 'Building gVisor', signal };
  const program = join(folder, 'runsc');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = await mkdtemp(join(folder, 'runsc-'));
  // Static: with cgo every start fails. gVisor's own flags do not apply.
  const env = { ...Object.fromEntries(named), PATH: path, CGO_ENABLED: '0', GOFLAGS: '', GOBIN: draft };
  try {
    return await within(deadline, async (stop) => {
      const go = (...args: string[]) => run('go', args, env, stop);
      onStep('Fetching the sources of gVisor');
      await checkModule(await go('mod', 'download', '-json', `${gvisor.module}@${gvisor.version}`));
      onStep('Building gVisor, which takes some minutes');
      await go('install', '-trimpath', '-ldflags', '-s -w', `${gvisor.module}/runsc@${gvisor.version}`);
      await run(join(draft, 'runsc'), ['--version'], env, stop);
      await rename(join(draft, 'runsc'), program);
      return { program, version: gvisor.version };
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Where the oci runtime looks for it. */
export function installFolder({ sandbox }: Config): string {
  return programsFolder(sandbox.state_dir);
}

const moduleSchema = z.looseObject({ Sum: z.string() });

function checkModule(answer: string): void {
  const found = moduleSchema.safeParse(parsedJson(answer));
  if (found.success && found.data.Sum === gvisor.sum) return;
  throw new GeodeError(
    'build_failed',
    `The sources of gVisor that Go fetched are not the expected ones: ${found.success ? found.data.Sum : 'no checksum'} instead of ${gvisor.sum}.`,
    { hint: 'Check GOPROXY: the proxy may have changed them.' },
  );
}

async function run(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  try {
    const options = { env, signal, cwd: '/', maxBuffer: largestOutput };
    return (await promisify(execFile)(program, [...args], options)).stdout;
  } catch (error) {
    if (isGeodeError(error) || signal.aborted) throw error;
    const { code, stderr = '' } = error as { readonly code?: unknown; readonly stderr?: string };
    if (code === 'ENOENT' && program === 'go') {
      throw new GeodeError('runtime_unavailable', 'gVisor is built with Go, and Go is not installed.', {
        hint: "Install Go 1.24 or newer (https://go.dev/dl), or gVisor's own package (https://gvisor.dev/docs/user_guide/install/).",
      });
    }
    const reason = stderr.trim().split('\n').slice(-20).join('\n') || String(error);
    throw new GeodeError('build_failed', `gVisor cannot be built: ${reason}`, {
      cause: error,
      hint: "Fix the reason above, or install gVisor's own package (https://gvisor.dev/docs/user_guide/install/).",
    });
  }
}
