import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { geode } from './geode.ts';

const { bubblewrap } = inject('engines');

describe('first commands of a new user', { timeout: 120_000 }, () => {
  let home: ReturnType<typeof temporaryFolder>;
  beforeAll(() => {
    home = temporaryFolder();
    mkdirSync(join(home.path, 'here'));
  });
  afterAll(() => home[Symbol.dispose]());
  const typed = (args: readonly string[], env: Record<string, string> = {}) =>
    geode(args, { home: home.path, cwd: join(home.path, 'here'), env });

  it('geode without arguments shows the current state and the next commands', async () => {
    const { stdout, code } = await typed([], { GEODE_RUNTIME_NAME: 'native' });
    expect(code).toBe(0);
    expect(stdout.split('\n').length).toBeLessThan(18);
    expect(stdout).toMatch(/Isolation {3}native \(none\)\n {2}Host {8}not running/);
    expect(stdout).toContain('Model       not set: geode onboard');
    expect(stdout).toContain("geode run python -c 'print(6*7)'");
  });

  it.each([
    [['--help'], 'Usage: geode COMMAND'],
    [['help', 'run'], 'Usage: geode run ['],
    [['help', 'sandbox', 'create'], 'Usage: geode sandbox create'],
    [['help', 'sandbox'], '  sandbox create '],
    [['sandbox', '--help'], '  sandbox create '],
    [['help', 'memory'], '  memory search '],
    [['help', 'solve'], 'Usage: geode solve COMMAND'],
    [['help', 'exit-codes'], '124 timed out'],
    [['approvals', 'list'], 'No request waits'],
    [['approvals'], 'No request waits'],
    [['secrets'], 'No secrets.'],
  ])('geode %j answers', async (args, said) => {
    const { stdout, code } = await typed(args);
    expect(stdout).toContain(said);
    expect(code).toBe(0);
  });

  it.each([
    [['pyhton'], 2, 'unknown command "pyhton". Did you mean "run python"?'],
    [['--halp'], 2, 'unknown option "--halp". Did you mean "--help"?'],
    [['--verison'], 2, 'Did you mean "--version"?'],
    [['sandbox', 'creat'], 2, 'unknown command "sandbox creat". Did you mean "sandbox create"?'],
    [['help', 'rnu'], 2, 'Did you mean "run"?'],
    [['run', '--tiemout', '3', 'a.py'], 2, 'Unknown option --tiemout. Did you mean --timeout?'],
    [['run', 'pyhton', '-c', '1'], 1, 'There is no language "pyhton". Did you mean "python"?'],
    [['run', 'nofile.py'], 1, 'geode: No such file: nofile.py.\n  A relative path starts in'],
    [['run', '--file', 'no.csv', 'shell', '-c', '1'], 1, 'No such file: no.csv.'],
  ])('geode %j is refused with a suggestion', async (args, code, said) => {
    const refused = await typed(args);
    expect(refused.stderr).toContain(said);
    expect(refused.code).toBe(code);
  });

  it('doctor ends in a verdict', async () => {
    const { stdout } = await typed(['doctor']);
    expect(stdout).toMatch(/^ok {3}node +v24/m);
    expect(stdout.trim().split('\n').at(-1)).toMatch(
      /^(Ready\. Strongest isolation here: \w+|Not ready: fix .+)\.$/,
    );
  });

  it.skipIf(!bubblewrap.available)('names a missing interpreter and how to install it', async () => {
    const code = ['run', '--runtime', 'bubblewrap', '-e', 'PATH=/nowhere', 'python', '-c', '1'];
    const refused = await typed(code);
    expect(refused.code).toBe(125);
    expect(refused.stderr).toContain('There is no python3 on this machine, whose programs the sandbox uses.');
    expect(refused.stderr).toContain('apt-get install python3-minimal');
    expect(refused.stderr).toContain('--image python:');
    await typed(['host', 'stop']);
  });

  it('hints use the form of the typed command', async () => {
    const hint = async (form: string) => (await typed(['pyhton'], { GEODE_TYPED_AS: form })).stderr;
    expect(await hint('npx geode-home')).toContain('See npx geode-home --help.');
    expect(await hint('bin/geode.js')).toContain('See bin/geode.js --help.');
    expect(await hint('')).toContain('geode --help.');
  });
});
