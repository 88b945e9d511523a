import { isAbsolute, join, normalize, relative } from 'node:path/posix';
import { isGeodeError } from '../base/errors.ts';
import type { PermissionClass } from '../seams/agent.ts';
import type { Files } from '../seams/files.ts';

/** The action of a call that needs permission, as far as its driver knows. */
export type Act =
  | { readonly type: 'read' }
  | { readonly type: 'edit'; readonly paths: readonly string[] }
  | { readonly type: 'command'; readonly command: string }
  /** A command that the command policy refuses. */
  | { readonly type: 'dangerous' }
  | { readonly type: 'other' };

/** Whether an operator allowed this kind of action in advance, so that nobody is asked. */
export function isAllowedAhead(
  act: Act,
  classes: readonly PermissionClass[],
  { workdir }: { readonly workdir: string },
): boolean {
  if (act.type === 'read') return classes.includes('reads');
  if (act.type === 'edit')
    return (
      classes.includes('edits') && act.paths.length > 0 && act.paths.every((path) => isOwn(path, workdir))
    );
  return act.type === 'command' && classes.includes('tests') && runsTests(act.command, workdir);
}

/**
 * Whether one of the paths goes through a link. Then the words do not show what is changed, and a person is asked. A
 * path that cannot be checked counts as a link.
 */
export async function leadsThroughLink(
  paths: readonly string[],
  { workdir, files }: { readonly workdir: string; readonly files: Pick<Files, 'stat'> },
): Promise<boolean> {
  const within = paths.map((path) => normalize(isAbsolute(path) ? relative(workdir, path) : path));
  for (const path of new Set(within.flatMap(pathsTo)))
    try {
      if ((await files.stat(path, { follow: false })).type === 'symlink') return true;
    } catch (error) {
      if (!isGeodeError(error, 'file_not_found')) return true;
    }
  return false;
}

function pathsTo(path: string): readonly string[] {
  return path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
}

/** Inside the workspace, but not where agents store their sessions. */
function isOwn(path: string, workdir: string): boolean {
  if (path.startsWith('~')) return false;
  const place = normalize(isAbsolute(path) ? path : join(workdir, path));
  const own = `${workdir}/.geode`;
  return place.startsWith(`${workdir}/`) && place !== own && !place.startsWith(`${own}/`);
}

/** No quotes, variables, redirections or other shell syntax: the text of such a command is exactly what runs. */
const plainCommand = /^[\w@%+=:,./ -]+$/;
/** No option may make a runner run something else, or use another shell. */
const testCommands: readonly RegExp[] = [
  /^(npm|pnpm|yarn|bun run) (run )?test(:[\w-]+)?(?!.* --?(script-shell|shell|exec|call)\b)( |$)/,
  /^(npx |pnpm |yarn |bunx )?(vitest|jest|mocha|ava)( |$)/,
  /^(node|deno|bun) (--test|test)(?!.* -(e|p|pe|-eval|-print)\b)( |$)/,
  /^(pytest|tox|nox)( |$)/,
  /^python3? -m (pytest|unittest)( |$)/,
  /^(go|cargo|dotnet|swift|mix) test(?!.* --?(exec|toolexec|config)\b)( |$)/,
  // A further word would be another target.
  /^make test( -(j\d*|k|s|B|i))*$/,
  /^(mvn|gradle|\.\/gradlew) test( (-[qBoe]|--(offline|quiet|info|stacktrace)|-Dtest=[\w.,-]+|--tests [\w.]+))*$/,
  /^(ctest|rspec|phpunit|\.\/vendor\/bin\/phpunit)( |$)/,
];
const changeFolder = /^cd (?!\/|-)(?!.*\.\.)[\w@%+=:,./-]+$/;

/** A sequence of test commands; the first part may change into a folder of the workspace. */
function runsTests(command: string, workdir: string): boolean {
  const parts = command.trim().split(/ *&& */);
  const [first = '', ...rest] = parts;
  const tests = changeFolder.test(first) ? rest : parts;
  return tests.length > 0 && tests.every((part) => runsTest(part, workdir));
}

function runsTest(command: string, workdir: string): boolean {
  if (!plainCommand.test(command) || !testCommands.some((runner) => runner.test(command))) return false;
  const places = command.split(/[ =:,]+/);
  return places.every(
    (place) => !place.split('/').includes('..') && (!isAbsolute(place) || isOwn(place, workdir)),
  );
}
