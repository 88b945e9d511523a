import { beforeAll, inject } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { languageNames } from '../../src/seams/run.ts';
import { ensureImages } from '../engine/index.ts';
import { openRuns } from './harness.ts';
import { languageSuite } from './language-suite.ts';

const { docker } = inject('engines');

beforeAll(async () => {
  if (docker.available) await ensureImages(docker, ['rust', 'go']);
}, 600_000);

for (const language of languageNames) {
  languageSuite({
    language,
    runtime: 'docker',
    unavailable: docker.available ? undefined : docker.reason,
    // TypeScript runs as JavaScript does; the compilers take their time with every run.
    depth: ['typescript', 'rust', 'go'].includes(language) ? 'language' : 'whole',
    open: () =>
      openRuns(
        (options) => dockerRuntime(options, options.docker),
        docker.available ? { dockerSocket: docker.socket } : {},
      ),
  });
}
