import { describe, expect, inject, it } from 'vitest';
import { defaultImages } from '../../src/runs/languages/index.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { Runtime } from '../../src/seams/runtime.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { EngineApi } from '../engine/engine-api.ts';
import { openRuns } from './harness.ts';

const { docker, bubblewrap } = inject('engines');
const megabyte = 1024 ** 2;

describe('defaults of a run', () => {
  it('RUN-1: the image of each language is pinned in one place', () => {
    expect(defaultImages).toEqual({
      python: 'python:3.12-slim',
      javascript: 'node:24-slim',
      typescript: 'node:24-slim',
      shell: 'alpine:3.22',
      rust: 'rust:1-slim',
      go: 'golang:1-alpine',
    });
  });

  it.skipIf(!docker.available)(
    `RUN-1: code runs in the default image of its language, without one in the config${docker.available ? '' : ` (skipped: ${docker.reason})`}`,
    async () => {
      if (!docker.available) throw new Error(docker.reason);
      const api = new EngineApi(docker.socket);
      const [name, tag] = ['alpine', '3.22'];
      // The real one, where somebody pulled it, does as well and stays.
      const isThere = (await api.imageLabels(`${name}:${tag}`)) !== null;
      if (!isThere) await api.tagImage('geode-test/busybox:1', name, tag);
      const { runs, close } = await openRuns(
        (options) => dockerRuntime(options, options.docker),
        { dockerSocket: docker.socket },
        { images: {}, pool: { floor: 0, ceiling: 0 } },
      );
      try {
        const result = await runs.run('busybox | head -1 | cut -d" " -f1', 'shell');
        expect(result).toMatchObject({ outcome: 'succeeded', stdout: 'BusyBox\n' });
      } finally {
        await close();
        if (!isThere) await api.delete(`/images/${name}:${tag}`);
      }
    },
  );

  it.skipIf(!bubblewrap.available)(
    `RUN-2: limits are 256 MiB, one processor, 256 processes, 60 s${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
    async ({ skip }) => {
      const seen: { limits?: EnforcedLimits; timeouts: unknown[] } = { timeouts: [] };
      const { runs, capabilities, close } = await openRuns(
        (options) => watched(bubblewrapRuntime(options), seen),
        {},
        { prestart: false },
      );
      try {
        const { memory, cpus, pids } = capabilities.limits;
        skip(!memory || !cpus || !pids, 'this machine has no control groups');
        await runs.run('print(1)', 'python');
        expect(seen.limits).toMatchObject({ memoryBytes: 256 * megabyte, cpus: 1, pids: 256 });
        expect(seen.timeouts).toEqual([60_000]);
        // A bomb a little above the memory shows that it is not only written down.
        const bomb = await runs.run(`print(len(bytearray(${300 * megabyte})))`, 'python');
        expect(bomb).toMatchObject({ outcome: 'out-of-memory', stdout: '' });
        const fits = await runs.run(`print(len(bytearray(${128 * megabyte})))`, 'python');
        expect(fits).toMatchObject({ outcome: 'succeeded' });
      } finally {
        await close();
      }
    },
  );

  it('RUN-5: 10 MB of each stream are kept, and the rest is counted', async () => {
    const { runs, close } = await openRuns(nativeRuntime, {}, { pool: { floor: 0, ceiling: 0 } });
    try {
      const code = 'import sys\nsys.stdout.write("o" * 10_000_007)\nsys.stderr.write("e" * 10_000_003)';
      const { bytes, truncated, dropped } = await runs.run(code, 'python');
      expect({
        stdout: bytes.stdout.length,
        stderr: bytes.stderr.length,
        truncated,
        dropped,
      }).toEqual({
        stdout: 10_000_000,
        stderr: 10_000_000,
        truncated: true,
        dropped: { stdout: 7, stderr: 3 },
      });
    } finally {
      await close();
    }
  });
});

type EnforcedLimits = Sandbox['limits'];

/** The same runtime; what is asked of its sandboxes is written down. */
function watched(runtime: Runtime, seen: { limits?: EnforcedLimits; timeouts: unknown[] }): Runtime {
  const open: Runtime['open'] = async (spec, cancel) => {
    const sandbox = await runtime.open(spec, cancel);
    seen.limits = sandbox.limits;
    return new Proxy(sandbox, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const [command] = args;
          if (name === 'spawn' && typeof command === 'object' && command !== null && 'timeoutMs' in command)
            seen.timeouts.push(command.timeoutMs);
          return value.apply(target, args);
        };
      },
    });
  };
  return { ...runtime, open };
}
