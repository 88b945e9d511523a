/**
 * Which tests may be tried a second time on a CI machine. A leak, a lost byte or an open wall that shows itself once
 * is a defect, however seldom it does: these tests have one try.
 */
import { basename } from 'node:path';

/** Words in the names of suites of leaks, kills, isolation and security. */
export const strictWords: ReadonlySet<string> = new Set([
  ...[
    'leaks',
    'crash',
    'kill',
    'kills',
    'killed',
    'reap',
    'outlive',
    'gone',
    'disk',
    'reliability',
    'gateways',
  ],
  ...['isolation', 'route', 'namespaces', 'neighbours', 'users', 'accounts', 'identity', 'auth', 'origin'],
  ...['hostile', 'attack', 'attacks', 'safety', 'guard', 'race', 'seccomp', 'walls', 'mounts', 'archive'],
  ...['cheats', 'framing', 'paths', 'private', 'reach'],
  ...['fuzz', 'scrubbing', 'secrets', 'bindings', 'policy', 'inspection', 'previews', 'redactor'],
]);

/** Promises about leaks, kills, isolation and security, in whichever suite. */
const strictPromise =
  /\b(SEC-\d|REL-\d|NET-\d|SH-4|FS-3|GL-5|GL-7|RT-6|RT-8|RT-9|RT-10|RUN-4|RUN-6|SBX-6|SBX-8|PROC-3|MEM-5|MEM-6|CA-3|CLI-2)\b/;

/** `name` is the name of the test with those of its suites. */
export function mayRetry(file: string, name: string): boolean {
  return !wordsOf(file).some((word) => strictWords.has(word)) && !strictPromise.test(name);
}

/** Words of a suite's name: `every-route.test.ts` has `every` and `route`. */
export function wordsOf(file: string): readonly string[] {
  return basename(file, '.test.ts').split('-');
}
