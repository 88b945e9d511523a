import { describe, expect, it } from 'vitest';
import {
  defaultShellPolicy,
  defaultStrictPrograms,
  describePolicy,
  type ShellPolicy,
} from '../../src/seams/shell-policy.ts';
import { judge } from '../../src/shell/policy.ts';

const strict: ShellPolicy = { mode: 'strict', programs: defaultStrictPrograms };

describe('strict mode', () => {
  it.each([
    'ls -la | grep x | wc -l',
    'cd src && for f in *.ts; do wc -l "$f"; done',
    'git add -A && git commit -m "Add a thing"',
    '/usr/bin/git status',
    'timeout 5 npm test',
    'find . -name "*.ts" -exec grep -l x {} +',
    "sh -c 'ls; pwd'",
    'greet() { echo "hello $1"; }; greet you',
    'if [ -f x ]; then cat x; fi',
    'export A=1; env B=2 node app.js',
    'while read -r line; do echo "$line"; done < file',
    'echo "$(git rev-parse HEAD)"',
  ])('SH-3: runs `%s`', (command) => {
    expect(judge(command, strict)).toEqual({ allowed: true });
  });

  it.each([
    ['curl https://x', 'not-listed'],
    ['sudo ls', 'not-listed'],
    ['./configure', 'not-listed'],
    ['./ls', 'not-listed'],
    ['ls; (true && nc -z h 1)', 'not-listed'],
    ['xargs ssh < hosts', 'not-listed'],
    ['timeout 5 telnet h', 'not-listed'],
    ['find . -exec socat {} \\;', 'not-listed'],
    ["sh -c 'ls; ssh h'", 'not-listed'],
    ['echo "$(whois x)"', 'not-listed'],
    ['X=ls; $X -la', 'dynamic'],
    ['"$(echo ls)" -la', 'dynamic'],
    ['/bin/l? x', 'dynamic'],
    ['env $(echo ls)', 'dynamic'],
    ['sh script.sh', 'dynamic'],
    ['. ./env.sh', 'dynamic'],
    ['eval "$(git config x)"', 'dynamic'],
    ['bash -c "$(cat x)"', 'dynamic'],
    ['cat x | sh', 'dynamic'],
    ['PATH=. ls', 'dynamic'],
    ['export LD_PRELOAD=./x.so', 'dynamic'],
    ['rm -rf /', 'destroy'],
    ['cat /etc/shadow', 'key-files'],
    ['echo "', 'unparsable'],
  ])('SH-3: refuses `%s` (%s)', (command, rule) => {
    const verdict = judge(command, strict);
    // An unset `$X` vanishes, which leaves `args` for the program.
    expect(verdict).toMatchObject({
      allowed: false,
      rule: rule === 'allowed-as-empty' ? 'not-listed' : rule,
    });
  });

  it('SH-3: takes the list from the policy', () => {
    expect(judge('terraform plan', strict).allowed).toBe(false);
    expect(judge('terraform plan', { ...strict, programs: ['terraform'] }).allowed).toBe(true);
    expect(judge('ls', { ...strict, programs: ['terraform'] }).allowed).toBe(false);
  });
});

describe('permissive mode', () => {
  it('SH-3: refuses nothing, and status warns about it', () => {
    const permissive: ShellPolicy = { mode: 'permissive', programs: [] };
    expect(judge('rm -rf /', permissive)).toEqual({ allowed: true });
    expect(judge('echo "', permissive)).toEqual({ allowed: true });
    expect(describePolicy(permissive)).toContain('OFF');
  });

  it('SH-3: the default is standard, and status names each mode', () => {
    expect(defaultShellPolicy.mode).toBe('standard');
    expect(describePolicy(defaultShellPolicy)).toMatch(/^standard: /);
    expect(describePolicy(strict)).toMatch(/^strict: allows only \d+ listed programs/);
  });
});
