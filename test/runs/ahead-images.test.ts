import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import Docker from 'dockerode';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { openRuns, type RunsHarness, testImages } from './harness.ts';

const { docker } = inject('engines');

/** Images whose interpreter is set up in ways of their own. */
const recipes = {
  'with modules of its own': {
    changes: 'ENV PYTHONPATH=/opt/own',
    files: { 'opt/own/own.py': 'mine = 1', 'opt/own/sitecustomize.py': 'import own; own.mine += 1' },
  },
  'that looks at no variables': {
    changes: '',
    files: { 'usr/local/bin/python3': '#!/bin/sh\nexec /usr/bin/python3 -I "$@"\n' },
  },
  'behind a script': {
    changes: '',
    files: { 'usr/local/bin/python3': '#!/bin/sh\n/usr/bin/python3 "$@"\n' },
  },
} as const;

const code = `
import os, sys
own = sys.modules.get("own")
print(sys.argv[1:], os.environ.get("NAME"), sys.stdin.read(), own and own.mine, os.environ.get("PYTHONPATH"))
`;
const options = { argv: ['a'], env: { NAME: 'b' }, stdin: 'c' };

const skipped = docker.available ? undefined : docker.reason;
describe.skipIf(skipped !== undefined)(
  `RUN-8: images with a waiting interpreter (${skipped ?? 'docker'})`,
  () => {
    const engine = new Docker({ socketPath: docker.available ? docker.socket : '' });
    const made: string[] = [];
    let ahead: RunsHarness;
    let plain: RunsHarness;

    beforeAll(async () => {
      const world = docker.available ? { dockerSocket: docker.socket } : {};
      const open = (prestart: boolean) =>
        openRuns((given) => dockerRuntime(given, given.docker), world, { prestart });
      [ahead, plain] = await Promise.all([open(true), open(false)]);
    });
    afterAll(async () => {
      await Promise.all([ahead?.close(), plain?.close()]);
      for (const image of made) await engine.getImage(image).remove({ force: true });
    });

    async function makeImage({ changes, files }: (typeof recipes)[keyof typeof recipes]): Promise<string> {
      const image = `geode-test/ahead-${randomBytes(4).toString('hex')}:1`;
      const container = await engine.createContainer({ Image: testImages.python, Cmd: ['true'] });
      const tar = pack();
      for (const [name, content] of Object.entries(files)) tar.entry({ name, mode: 0o755 }, content);
      tar.finalize();
      await container.putArchive(Readable.from(tar), { path: '/' });
      const [repo = '', tag = ''] = image.split(':');
      await container.commit({ repo, tag, ...(changes === '' ? {} : { changes }) });
      await container.remove();
      made.push(image);
      return image;
    }

    it.for(Object.entries(recipes))('one %s runs code as without waiting', async ([, recipe]) => {
      const image = await makeImage(recipe);
      const expected = await plain.runs.run(code, 'python', { ...options, image });
      expect(expected).toMatchObject({ stderr: '', exitCode: 0 });
      // The first has a sandbox made for it, and comes while the interpreter starts; the others find one that waits.
      for (let time = 0; time < 4; time += 1) {
        const { stdout, stderr } = await ahead.runs.run(code, 'python', { ...options, image });
        expect({ stdout, stderr }).toEqual({ stdout: expected.stdout, stderr: '' });
      }
    });
  },
);
