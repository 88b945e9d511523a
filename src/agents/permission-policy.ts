import { isAbsolute, join, normalize } from 'node:path/posix';
import type { PermissionClass } from '../core/agent.ts';

/** What a call that needs permission does, as far as its driver can tell. */
export type Act =
  | { readonly type: 'read' }
  | { readonly type: 'edit'; readonly paths: readonly string[] }
  | { readonly type: 'command'; readonly command: string }
  | { readonly type: 'other' };

/** Whether an operator allowed this kind of act ahead, so that nobody is asked. */
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
  return act.type === 'command' && classes.includes('tests') && runsTests(act.command);
}

/** Below the workspace, and not where agents keep their sessions. */
function isOwn(path: string, workdir: string): boolean {
  const place = normalize(isAbsolute(path) ? path : join(workdir, path));
  const own = `${workdir}/.geode`;
  return place.startsWith(`${workdir}/`) && place !== own && !place.startsWith(`${own}/`);
}

/** No quotes, variables, redirections or other signs of the shell: such a command says what it does. */
const plainCommand = /^[\w@%+=:,./ -]+$/;
const testCommands: readonly RegExp[] = [
  /^(npm|pnpm|yarn|bun) (run )?test(:[\w-]+)?( |$)/,
  /^(npx |pnpm |yarn |bunx )?(vitest|jest|mocha|ava)( |$)/,
  /^(node|deno|bun) (--test|test)( |$)/,
  /^(pytest|tox|nox)( |$)/,
  /^python3? -m (pytest|unittest)( |$)/,
  /^(go|cargo|dotnet|mvn|gradle|\.\/gradlew|swift|mix|make) test( |$)/,
  /^(ctest|rspec|phpunit|\.\/vendor\/bin\/phpunit)( |$)/,
];
const changeFolder = /^cd (?!\/|-)(?!.*\.\.)[\w@%+=:,./-]+$/;

/** Commands one after the other, of which each runs tests; the first may go into a folder of the workspace. */
function runsTests(command: string): boolean {
  const parts = command.trim().split(/ *&& */);
  const [first = '', ...rest] = parts;
  const tests = changeFolder.test(first) ? rest : parts;
  return (
    tests.length > 0 &&
    tests.every((part) => plainCommand.test(part) && testCommands.some((runner) => runner.test(part)))
  );
}
