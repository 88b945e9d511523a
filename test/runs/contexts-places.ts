import { afterAll, beforeAll, describe, inject } from 'vitest';
import { type Context, type ContextOptions, openContext } from '../../src/runs/contexts/context.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { ContextLanguage } from '../../src/seams/run.ts';
import type { Sandbox, SandboxSpec } from '../../src/seams/sandbox.ts';
import { type Harness, openHarness } from '../contracts/harness.ts';

export interface Place {
  readonly name: string;
  readonly sandbox: () => Sandbox;
  /** Another sandbox, for what the first shall not suffer. */
  another(spec: SandboxSpec): Promise<Sandbox>;
  /** A context that the end of the suite closes, whatever happens to the test. */
  open(options?: ContextOptions): Promise<Context>;
}

const images = { python: 'geode-test/python:1', javascript: 'geode-test/node:1' } as const;

/** A machine under load may take longer than the defaults; a test of the limits themselves sets its own. */
const patient = { graceMs: 60_000 };

/** The same suite wherever an interpreter of the language is found: a real container, and the machine's own. */
export function inEveryPlace(language: ContextLanguage, suite: (place: Place) => void): void {
  const { docker, bubblewrap } = inject('engines');
  const world = docker.available ? { dockerSocket: docker.socket, image: images[language] } : {};
  const places = [
    {
      name: 'docker',
      missing: docker.available ? undefined : docker.reason,
      open: () => openHarness((options) => dockerRuntime(options, options.docker), world),
    },
    {
      name: 'bubblewrap',
      missing: bubblewrap.available ? undefined : bubblewrap.reason,
      open: () => openHarness(bubblewrapRuntime),
    },
    { name: 'native', missing: undefined, open: () => openHarness(nativeRuntime) },
  ];
  for (const { name, missing, open } of places) {
    const title =
      missing === undefined ? `${language} on ${name}` : `${language} on ${name} (skipped: ${missing})`;
    describe.skipIf(missing !== undefined)(title, () => {
      let harness: Harness | undefined;
      let sandbox: Sandbox | undefined;
      const contexts: Context[] = [];
      const opened = () => {
        if (sandbox === undefined) throw new Error('the sandbox is not open');
        return sandbox;
      };
      beforeAll(async () => {
        harness = await open();
        sandbox = await harness.open();
      });
      afterAll(async () => {
        await Promise.all(contexts.map((context) => context.close()));
        await harness?.close();
      });
      suite({
        name,
        sandbox: opened,
        async another(spec) {
          if (harness === undefined) throw new Error('the harness is not open');
          return harness.open({ ...spec });
        },
        async open(options) {
          const context = await openContext(opened(), language, { ...patient, ...options });
          contexts.push(context);
          return context;
        },
      });
    });
  }
}
