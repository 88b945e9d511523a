import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { EngineApi } from './engine-api.ts';
import type { ContainerEngine, EngineFacts, Unavailable } from './facts.ts';

const ownerLabel = 'dev.geode.owner';

/**
 * Everything that a test run must not leave behind and did, one line each: containers that carry an owner and
 * volumes that no container uses, on every engine; guests that still run; mounts, loop devices and entries below the
 * given state folders. A line stays the same as long as the thing is there, so what was there before a run can be told apart.
 */
export async function leftovers(facts: EngineFacts, stateFolders: readonly string[]): Promise<string[]> {
  return [
    ...(await containers('docker', facts.docker)),
    ...(await containers('podman', facts.podman)),
    ...(await volumes('docker', facts.docker)),
    ...(await volumes('podman', facts.podman)),
    ...guests(),
    ...stateFolders.flatMap(hosts),
    ...stateFolders.flatMap(mounts),
    ...stateFolders.flatMap(loopDevices),
    ...stateFolders.flatMap(entries),
  ];
}

const containersSchema = z.array(
  z.object({ Id: z.string(), Names: z.array(z.string()), Labels: z.record(z.string(), z.string()) }),
);

async function containers(name: string, engine: ContainerEngine | Unavailable): Promise<string[]> {
  if (!engine.available) return [];
  const path = `/containers/json?all=1&filters=${filters({ label: [ownerLabel] })}`;
  const listed = containersSchema.parse(await new EngineApi(engine.socket).get(path));
  return listed.map(({ Id, Names, Labels }) => {
    return `${name} container ${Id.slice(0, 12)} ${Names.join(' ')} of ${Labels[ownerLabel]}`;
  });
}

const volumesSchema = z.object({ Volumes: z.array(z.object({ Name: z.string() })).nullish() });

async function volumes(name: string, engine: ContainerEngine | Unavailable): Promise<string[]> {
  if (!engine.available) return [];
  const path = `/volumes?filters=${filters({ dangling: ['true'] })}`;
  const { Volumes } = volumesSchema.parse(await new EngineApi(engine.socket).get(path));
  return (Volumes ?? []).map(({ Name }) => `${name} volume ${Name}`);
}

function filters(wanted: Readonly<Record<string, readonly string[]>>): string {
  return encodeURIComponent(JSON.stringify(wanted));
}

/** Programs in the background that were started with a home in the folder. */
function hosts(folder: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && entry !== String(process.pid))
    .flatMap((pid) => {
      const argv = readOr(`/proc/${pid}/cmdline`, '').split('\0').slice(0, -1);
      const isHost = basename(argv[1] ?? '') === 'geode.js' && argv[2] === 'host';
      const isOurs = isHost && readOr(`/proc/${pid}/environ`, '').includes(folder);
      return isOurs ? [`process ${pid}: ${argv.join(' ')}`] : [];
    });
}

function guests(): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      const argv = readOr(`/proc/${pid}/cmdline`, '').split('\0').slice(0, -1);
      const isGuest =
        basename(argv[0] ?? '').startsWith('guest') || argv.some((word) => word.startsWith('/.geode/'));
      return isGuest ? [`process ${pid}: ${argv.join(' ')}`] : [];
    });
}

export function mounts(stateFolder: string): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => path === stateFolder || path.startsWith(`${stateFolder}/`))
    .map((path) => `mount ${path}`);
}

/** Of files below the folder, also of those that are gone. */
export function loopDevices(stateFolder: string): string[] {
  return readdirSync('/sys/block')
    .filter((name) => name.startsWith('loop'))
    .map((name) => [name, readOr(`/sys/block/${name}/loop/backing_file`, '').trim()] as const)
    .filter(([, file]) => file.startsWith(`${stateFolder}/`))
    .map(([name, file]) => `loop device ${name} of ${file}`);
}

function entries(stateFolder: string): string[] {
  if (!existsSync(stateFolder)) return [];
  return readdirSync(stateFolder).map((entry) => `entry ${join(stateFolder, entry)}`);
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return otherwise;
  }
}
