import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import type { Runtime } from '../../src/seams/runtime.ts';

const usualPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const mountedAt = '/opt/node';

type Make = (options: RuntimesOptions) => Runtime;

/**
 * A runtime of the machine's own programs, with the Node that runs the tests in front of them: the machine's
 * may be too old for TypeScript, or not there at all.
 */
export function withOwnNode(make: Make): Make {
  const source = dirname(realpathSync(process.execPath));
  return (options) => {
    const runtime = make({ ...options, mounts: { ...options.mounts, roots: [source] } });
    const visible = runtime.name === 'native';
    const node = visible
      ? { env: { PATH: `${source}:${usualPath}` } }
      : { env: { PATH: `${mountedAt}:${usualPath}` }, mounts: [{ source, target: mountedAt }] };
    return { ...runtime, open: (spec, cancel) => runtime.open({ ...spec, ...node }, cancel) };
  };
}
