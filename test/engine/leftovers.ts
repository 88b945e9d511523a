import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { EngineApi } from './engine-api.ts';
import type { ContainerEngine, EngineFacts, Unavailable } from './facts.ts';
import { runtimeFolder } from './folders.ts';
import type { RunFolder } from './run-folder.ts';

const homeLabel = 'dev.geode.home';

/**
 * Everything that a test run must not leave behind and did, one line each with the test file that left it:
 * containers and volumes on every engine, processes, mounts, loop devices, control groups, and entries of the run's
 * folder. Only what carries the mark of this run counts: other runs share the machine, and killed ones left theirs.
 */
export async function leftovers(facts: EngineFacts, run: RunFolder): Promise<string[]> {
  return [
    ...(await containers('docker', facts.docker, run)),
    ...(await containers('podman', facts.podman, run)),
    ...(await volumes('docker', facts.docker, run)),
    ...(await volumes('podman', facts.podman, run)),
    ...processes(run),
    ...[...mounts(run.path), ...loopDevices(run.path)].map((line) => line + run.culprit(line)),
    ...controlGroups(run),
    ...entries(run),
  ];
}

/** Time for leftovers that end by themselves: an engine may still be removing a container. */
const graceMs = 60_000;

/** Leftovers of the run, without resources that are being removed. */
export async function leftBehind(facts: EngineFacts, run: RunFolder): Promise<readonly string[]> {
  const until = performance.now() + graceMs;
  for (;;) {
    const left = await leftovers(facts, run);
    if (left.length === 0 || performance.now() > until) return left;
    await delay(200);
  }
}

const containersSchema = z.array(
  z.object({
    Id: z.string(),
    Names: z.array(z.string()),
    Labels: z.record(z.string(), z.string()).nullish(),
    Mounts: z.array(z.object({ Source: z.string().optional() })).nullish(),
  }),
);

async function containers(
  name: string,
  engine: ContainerEngine | Unavailable,
  run: RunFolder,
): Promise<string[]> {
  if (!engine.available) return [];
  const listed = containersSchema.parse(await new EngineApi(engine.socket).get('/containers/json?all=1'));
  return listed.flatMap(({ Id, Names, Labels, Mounts }) => {
    const place =
      run.folderOfHome(Labels?.[homeLabel]) ??
      Mounts?.map(({ Source = '' }) => Source).find((source) => run.isIn(source));
    return place === undefined
      ? []
      : [`${name} container ${Id.slice(0, 12)} ${Names.join(' ')}${run.culprit(place)}`];
  });
}

const volumesSchema = z.object({
  Volumes: z
    .array(z.object({ Name: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))
    .nullish(),
});

async function volumes(
  name: string,
  engine: ContainerEngine | Unavailable,
  run: RunFolder,
): Promise<string[]> {
  if (!engine.available) return [];
  const { Volumes } = volumesSchema.parse(await new EngineApi(engine.socket).get('/volumes'));
  return (Volumes ?? []).flatMap(({ Name, Labels }) => {
    const place = run.folderOfHome(Labels?.[homeLabel]);
    return place === undefined ? [] : [`${name} volume ${Name}${run.culprit(place)}`];
  });
}

/**
 * Programs that know the run's folder: by their arguments, their environment, where they were started, or what is
 * mounted for them. This process does not; its workers are the run itself, and an engine's daemon outlives it.
 */
function processes(run: RunFolder): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      const words = readOr(`/proc/${pid}/cmdline`).split('\0').join(' ').trim();
      // One without words has ended, or is the kernel's.
      if (words === '' || words.includes(runtimeFolder) || isWorker(pid, words)) return [];
      const place = [
        words,
        linkOr(`/proc/${pid}/cwd`),
        ...['environ', 'mountinfo'].map((file) => readOr(`/proc/${pid}/${file}`)),
      ].find((text) => run.isIn(text));
      return place === undefined ? [] : [`process ${pid}: ${words.slice(0, 300)}${run.culprit(place)}`];
    });
}

function isWorker(pid: string, words: string): boolean {
  const stat = readOr(`/proc/${pid}/stat`);
  const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
  return parent === String(process.pid) && words.includes('/vitest/');
}

export function mounts(folder: string): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path === folder || path.startsWith(`${folder}/`))
    .map((path) => `mount ${path}`);
}

/** Loop devices of files below the folder, also of deleted files. */
export function loopDevices(folder: string): string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .map((name) => [name, readOr(`/sys/block/${name}/loop/backing_file`).trim()] as const)
    .filter(([, file]) => file.startsWith(`${folder}/`))
    .map(([name, file]) => `loop device ${name} of ${file}`);
}

function controlGroups(run: RunFolder): string[] {
  const root = '/sys/fs/cgroup';
  if (!existsSync(root)) return [];
  const above = [root, ...readdirSync(root).map((entry) => join(root, entry))];
  return above.flatMap((folder) =>
    namesIn(folder)
      .filter((name) => name.startsWith('geode-'))
      .flatMap((name) => {
        const place = run.folderOfHome(name.slice('geode-'.length));
        if (place === undefined) return [];
        return roomsIn(join(folder, name)).map((room) => `control group ${room}${run.culprit(place)}`);
      }),
  );
}

function roomsIn(folder: string): string[] {
  return namesIn(folder)
    .map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, 'cgroup.procs')));
}

function entries(run: RunFolder): string[] {
  const own = new Set(Object.values(run.folders));
  return namesIn(run.path)
    .map((name) => join(run.path, name))
    .flatMap((path) => (own.has(path) ? namesIn(path).map((name) => join(path, name)) : [path]))
    .map((path) => `entry ${path}${run.culprit(path)}`);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOr(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
