import type { Config } from './schema.ts';

/** A hash of each setting, by its name: it shows a difference without revealing the value. */
export type Marks = Readonly<Record<string, string>>;

/**
 * Every setting that a running host depends on. How long sandboxes stay and how many there may be is left out,
 * because only the host uses it.
 */
export function marksOf(config: Config): Marks {
  const { runtime, docker, oci, apple, sandbox, security, runs, egress, providers, memory, qdrant, gateway } =
    config;
  const { state_dir, run_dir, first_uid, uids, memory: most, cpus, pids, disk, open_files, lease } = sandbox;
  const sections: Readonly<Record<string, object>> = {
    runtime,
    docker,
    oci,
    apple,
    sandbox: { state_dir, run_dir, first_uid, uids, memory: most, cpus, pids, disk, open_files, lease },
    security,
    runs: { images: runs.images, disk: runs.disk, pull_timeout: runs.pull_timeout },
    egress,
    providers,
    memory,
    qdrant,
    gateway: { keys_file: gateway.keys_file },
  };
  return Object.fromEntries(
    Object.entries(sections).flatMap(([section, keys]) =>
      Object.entries(keys).map(([key, value]): [string, string] => [`${section}.${key}`, markOf(value)]),
    ),
  );
}

/** The names of the settings that differ, among those that `counts` selects. */
export function differingIn(
  theirs: Marks,
  ours: Marks,
  counts: (name: string) => boolean,
): readonly string[] {
  return Object.keys({ ...theirs, ...ours }).filter((name) => counts(name) && theirs[name] !== ours[name]);
}

/** Memory and sandboxes compare only their own settings. */
export function isOfMemory(name: string): boolean {
  return /^(memory|qdrant|gateway)\./.test(name);
}

function markOf(value: unknown): string {
  // Imported here: a command that only compares marks does not need it.
  const { hash } = process.getBuiltinModule('node:crypto');
  return hash('sha256', JSON.stringify(value) ?? '').slice(0, 16);
}
