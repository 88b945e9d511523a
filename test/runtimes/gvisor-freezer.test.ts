import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { gvisorFreezer } from '../../src/runtimes/oci/gvisor.ts';
import { eventually } from '../contracts/harness.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** As slow as a machine under load may make the real one; a file is the state of its kernel. */
const program = `#!/bin/sh
cd "\${0%/*}" || exit 1
case "$1" in
  state) echo "{\\"status\\": \\"$(cat kernel)\\"}" ;;
  pause) touch begun; sleep 1; printf paused > kernel ;;
  resume) printf running > kernel ;;
esac
`;

it('the end of a pause waits for a pause that is still on its way', async () => {
  using folder = temporaryFolder();
  const file = (name: string) => join(folder.path, name);
  writeFileSync(file('runsc'), program);
  chmodSync(file('runsc'), 0o755);
  writeFileSync(file('kernel'), 'running');
  const freezer = gvisorFreezer({
    program: file('runsc'),
    root: [],
    id: 'one',
    path: process.env.PATH ?? '',
  });
  const { signal } = new AbortController();
  const pausing = freezer.pause(signal);
  await eventually(async () => existsSync(file('begun')), 'the begun pause', 60_000);
  await freezer.resume(signal);
  await pausing;
  expect(readFileSync(file('kernel'), 'utf8')).toBe('running');
});
