/** Checks the guest: gofmt, go vet and its tests. Part of `npm run check`. */
import { spawnSync } from 'node:child_process';
import { guestSources } from './build-guest.ts';
import { findGo } from './go-toolchain.ts';

const { go, gofmt, env } = await findGo(guestSources);

const unformatted = run(gofmt, ['-l', '.'], 'pipe').trim();
if (unformatted) {
  console.error(`Not formatted (run npm run fix):\n${unformatted}`);
  process.exitCode = 1;
}
run(go, ['vet', './...'], 'inherit');
run(go, ['test', './...'], 'inherit');

function run(program: string, args: string[], output: 'pipe' | 'inherit'): string {
  const result = spawnSync(program, args, {
    cwd: guestSources,
    env,
    stdio: ['ignore', output, 'inherit'],
    encoding: 'utf8',
  });
  if (result.status !== 0) {
    console.error(`${program} ${args.join(' ')} failed${result.error ? `: ${result.error.message}` : ''}`);
    process.exitCode = 1;
  }
  return result.stdout ?? '';
}
