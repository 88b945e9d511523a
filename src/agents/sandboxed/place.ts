import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Cancel } from '../../base/cancel.ts';
import { GeodeError, isGeodeError } from '../../base/errors.ts';
import type { PersistentSpec } from '../../seams/persistent.ts';
import type { Runtime } from '../../seams/runtime.ts';
import type { Mount, Network, Sandbox, SandboxSpec } from '../../seams/sandbox.ts';
import { agentVersion } from './program/version.ts';

/** The sandboxes of agents whose loop runs inside: their settings, and how their program is started. */
export interface AgentPlace {
  readonly spec: PersistentSpec;
  /** The program of the agent in the sandbox. */
  readonly program: string;
  /** The Node binary that runs it. */
  readonly node: string;
}

export interface PlaceOptions {
  /** The program built on this host. */
  readonly bundle: string;
  /** Uses the program of the image instead. */
  readonly program?: string | undefined;
  /** The Node binary of this host. */
  readonly node?: string;
  readonly image: string;
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
  readonly network: Network;
  readonly mounts: readonly Mount[];
  readonly runtime: (options: Cancel) => Promise<Runtime>;
  /** A temporary sandbox. */
  readonly open: (spec: SandboxSpec, runtime: Runtime, options: Cancel) => Promise<Sandbox>;
}

const bundleTarget = '/opt/geode/agent';
const nodeTarget = '/opt/geode/node';

/**
 * Checks that agents can run inside sandboxes here: a working engine, the image, and the program in this host's
 * version. Throws with the command that fixes it.
 */
export async function checkPlace(options: PlaceOptions, cancel: Cancel = {}): Promise<AgentPlace> {
  const runtime = await options.runtime(cancel);
  if (runtime.name === 'native')
    throw new GeodeError(
      'cannot_enforce',
      'Agents run inside sandboxes, and the native runtime has no walls.',
      {
        hint: 'Set runtime.name to docker or bubblewrap; `geode doctor` shows which works here.',
      },
    );
  await checkImage(runtime, options.image, cancel);
  const { node = process.execPath, program = join(bundleTarget, 'agent-stdin.mjs') } = options;
  if (options.program === undefined && !existsSync(options.bundle))
    throw new GeodeError('agent_unavailable', `The program for sandboxes is not built: ${options.bundle}`, {
      hint: 'Build it with `npm run agent`.',
    });
  const own: readonly Mount[] =
    options.program === undefined ? [{ source: dirname(options.bundle), target: bundleTarget }] : [];
  const spec: PersistentSpec = {
    ...(runtime.images !== undefined && !runtime.hasMachinePrograms && { image: options.image }),
    limits: { memoryBytes: options.memoryBytes, cpus: options.cpus },
    mounts: [...own, { source: node, target: nodeTarget }, ...options.mounts],
    network: options.network,
  };
  await using sandbox = await options.open(spec, runtime, cancel);
  return {
    spec: { ...spec, runtime: runtime.name },
    program,
    node: await workingNode(sandbox, program, options, cancel),
  };
}

async function checkImage(runtime: Runtime, image: string, cancel: Cancel): Promise<void> {
  if (runtime.images === undefined || runtime.hasMachinePrograms) return;
  if ((await runtime.images.find(image, cancel)) !== undefined) return;
  const own = /^localhost\/geode\/(\w+):/.exec(image)?.[1];
  const fix = own === undefined ? `docker pull ${image}` : `geode image build ${own}`;
  throw new GeodeError('image_missing', `The image of the agents, ${image}, is not on ${runtime.name}.`, {
    hint: `Run \`${fix}\`, or set another one in container_agent.image.`,
  });
}

/** The host's own Node first; an image without its libraries needs its own Node. */
async function workingNode(
  sandbox: Sandbox,
  program: string,
  { image }: PlaceOptions,
  { signal }: Cancel,
): Promise<string> {
  const failures: string[] = [];
  for (const node of [nodeTarget, 'node']) {
    const result = await sandbox
      .exec({ argv: [node, program, '--version'], timeoutMs: 60_000 }, { signal })
      .catch((error: unknown) => {
        if (!isGeodeError(error, 'spawn_failed')) throw error;
        return { exitCode: null, stdout: '', stderr: error.message };
      });
    const version = result.stdout.trim();
    if (result.exitCode === 0 && version === agentVersion) return node;
    if (result.exitCode === 0) throw wrongVersion(version);
    failures.push(`${node}: ${result.stderr.trim().slice(-300) || `exit code ${result.exitCode}`}`);
  }
  throw new GeodeError(
    'agent_unavailable',
    `Node cannot run the agent in its sandbox. ${failures.join('; ')}`,
    {
      hint: `Set container_agent.image (now ${image}) to an image with Node 24: \`geode image build agent\` builds one.`,
    },
  );
}

export function wrongVersion(version: string): GeodeError {
  return new GeodeError(
    'agent_unavailable',
    `The agent's program in the sandbox has version ${version.slice(0, 40)}, this host ${agentVersion}.`,
    {
      hint: 'Remove container_agent.program from the config to use the host’s own, rebuild that with `npm run agent`, or rebuild the image with `geode image build agent`.',
    },
  );
}
