import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import type { RuntimesOptions } from '../../src/runtimes/index.ts';
import { events } from '../contracts/exec.ts';
import { fixture, testOptions } from '../contracts/harness.ts';

const { docker, bubblewrap } = inject('engines');
const lines = 4_000;
const script = `i=0; while [ $i -lt ${lines} ]; do echo "line $i"; i=$((i+1)); done; sleep 0.5; echo last; exit 6`;

describe('a host that is killed', () => {
  it.skipIf(!bubblewrap.available)(
    'GL-7 PROC-2: the next one finds the process and reads all of its output (bubblewrap)',
    async () => {
      await using options = await testOptions();
      await killAndReturn('bubblewrap', options);
    },
  );

  it.skipIf(!docker.available)(
    'GL-7 PROC-2: the next one finds the process and reads all of its output (docker)',
    async () => {
      await using options = await testOptions(docker.available ? { dockerSocket: docker.socket } : {});
      await killAndReturn('docker', options);
    },
  );
});

async function killAndReturn(name: 'docker' | 'bubblewrap', options: RuntimesOptions): Promise<void> {
  const host = spawn(process.execPath, [fixture('host.ts'), name, JSON.stringify(options), script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(host, 'exit');
  let made: { sandbox: string; process: string } | undefined;
  for await (const line of createInterface(host.stdout)) {
    const said = JSON.parse(line);
    made ??= said;
    // In the middle: some of the output is with the host, some is not yet.
    if (said.offset > 5_000) break;
  }
  host.kill('SIGKILL');
  await ended;
  if (made === undefined) throw new Error('the host said nothing');

  const runtime = name === 'docker' ? dockerRuntime(options, options.docker) : bubblewrapRuntime(options);
  expect(await runtime.list()).toMatchObject([{ id: made.sandbox, state: 'running' }]);
  await using sandbox = await runtime.adopt(made.sandbox);
  const { processes } = await sandbox.processes();
  expect(processes.map(({ id }) => id)).toEqual([made.process]);
  const { stdout, exit } = await events(await sandbox.attach(made.process));
  const whole = `${Array.from({ length: lines }, (_, index) => `line ${index}\n`).join('')}last\n`;
  expect(stdout).toBe(whole);
  expect(exit).toMatchObject({ exitCode: 6 });
  const replayed = await events(await sandbox.attach(made.process));
  expect(replayed.stdout).toBe(whole);
}
