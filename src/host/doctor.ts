/** Checks this machine by trying each part. */
import { access, constants, mkdir, statfs } from 'node:fs/promises';
import type { Cancel } from '../base/cancel.ts';
import { isGeodeError, reasonOf } from '../base/errors.ts';
import type { Config } from '../config/schema.ts';
import type { Machine } from '../machine/machine.ts';
import type { ProbedRuntime } from '../runtimes/index.ts';
import { howToGetGvisor } from '../runtimes/oci/oci.ts';
import type { MachineCheck } from '../seams/doctor.ts';
import type { Workspace } from '../seams/sandbox.ts';
import { checkTelemetry } from './configured-telemetry.ts';
import type { Geode } from './geode.ts';

const leastFreeBytes = 1024 ** 3;

/** Never throws: a failure is a failed check. */
export async function checkMachine(
  config: Config,
  { app, machine }: { readonly app: Geode; readonly machine: Machine },
  cancel: Cancel = {},
): Promise<readonly MachineCheck[]> {
  const { sandbox } = config;
  const probed = await app.probe();
  const runtimes = probed.map((each) => runtimeCheck(app, each, cancel));
  return [
    { name: 'node', state: 'ok', found: process.version },
    await folderCheck('state folder', sandbox.state_dir, leastFreeBytes),
    await folderCheck('run folder', sandbox.run_dir, 0),
    ...(await Promise.all(runtimes)).flat(),
    ...probed.flatMap(limitsCheck),
    ...probed.flatMap(gvisorCheck),
    isolationCheck(probed),
    ...(await checkTelemetry(config, machine)),
  ];
}

async function folderCheck(name: string, folder: string, leastFree: number): Promise<MachineCheck> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    if (free >= leastFree) return { name, state: 'ok', found: folder };
    return {
      name,
      state: 'warning',
      found: `${folder} has ${Math.round(free / 1024 ** 2)} MiB left`,
      fix: 'Free some space, or set sandbox.state_dir.',
    };
  } catch (error) {
    return {
      name,
      state: 'problem',
      found: reasonOf(error),
      fix: 'Set sandbox.state_dir and sandbox.run_dir to folders that this user may write.',
    };
  }
}

/** The probe may say "available", but only a command that ran proves it. */
async function runtimeCheck(
  app: Geode,
  { runtime: { name }, found }: ProbedRuntime,
  { signal }: Cancel,
): Promise<readonly MachineCheck[]> {
  if (!found.available) return [{ name, state: 'warning', found: found.reason, fix: found.fix }];
  try {
    const opening = { runtime: name, ...(signal && { signal }) };
    await using opened = await app.open({}, opening);
    const { exitCode } = await opened.exec({ argv: ['/bin/sh', '-c', 'exit 0'] }, { signal });
    if (exitCode !== 0) return [{ name, state: 'problem', found: `a test command exited with ${exitCode}` }];
    const { grade } = opened;
    const works = `${found.version}; a command ran, grade ${grade}`;
    const python = name === 'bubblewrap' ? await pythonCheck(opened, { signal }) : [];
    return [{ name, state: 'ok', found: works, grade }, ...python];
  } catch (error) {
    const fix = (isGeodeError(error) ? error.hint : undefined) ?? 'See the message.';
    // The runtime works; only the default image is missing.
    if (isGeodeError(error, 'image_missing'))
      return [{ name, state: 'warning', found: `${found.version}; not tried. ${error.message}`, fix }];
    return [{ name, state: 'problem', found: reasonOf(error), fix }];
  }
}

/** Sandboxes of bubblewrap use the programs of the machine. */
async function pythonCheck(sandbox: Workspace, cancel: Cancel): Promise<readonly MachineCheck[]> {
  const { exitCode } = await sandbox.exec({ argv: ['/bin/sh', '-c', 'command -v python3'] }, cancel);
  if (exitCode === 0) return [];
  return [
    {
      name: 'python',
      state: 'warning',
      found: 'not installed on this machine, whose programs bubblewrap uses',
      fix: 'Install it (on Debian: apt-get install python3-minimal), or run code in an image.',
    },
  ];
}

/** Limits that the kernel does not enforce. A control group delegated to this user would change that. */
function limitsCheck({ runtime: { name }, found }: ProbedRuntime): readonly MachineCheck[] {
  if (!found.available || found.capabilities.softLimits.length === 0) return [];
  const { limits, softLimits } = found.capabilities;
  const cpus = limits.cpus ? '' : '; CPUs are not limited';
  return [
    {
      name: `${name} limits`,
      state: 'warning',
      found: `soft for ${softLimits.join(' and ')}: the guest counts, because this user has no control group of its own${cpus}`,
      fix: 'Start the host in a delegated control group: systemd-run --user --scope -p Delegate=yes geode gateway',
    },
  ];
}

/** The oci runtime works without gVisor, but weaker. */
function gvisorCheck({ runtime: { name }, found }: ProbedRuntime): readonly MachineCheck[] {
  if (name !== 'oci' || !found.available || found.grade === 'kernel') return [];
  return [
    {
      name: 'gvisor',
      state: 'warning',
      found: "runsc is not used: sandboxes of oci share the machine's kernel, and cannot be checkpointed",
      fix: `For grade kernel, ${howToGetGvisor}`,
    },
  ];
}

function isolationCheck(probed: readonly ProbedRuntime[]): MachineCheck {
  const name = 'isolation';
  if (probed.some(({ runtime, found }) => found.available && runtime.name !== 'native'))
    return { name, state: 'ok', found: 'sandboxes are sealed' };
  return {
    name,
    state: 'problem',
    found: 'no isolating runtime works',
    fix: 'Fix one of the runtimes above; bubblewrap is the quickest: apt-get install bubblewrap',
  };
}
