import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const unit = fileURLToPath(new URL('../../deploy/geode.service', import.meta.url));
const isMissing = spawnSync('systemd-analyze', ['--version']).status !== 0;
const skipped = isMissing ? ' (skipped: systemd-analyze is not installed)' : '';

it.skipIf(isMissing)(`deploy/geode.service has only settings that systemd knows${skipped}`, () => {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  // It ends with 0 for an unknown setting, so its output counts; lines about other units of the machine do not.
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('geode.service'));
  expect({ status, lines }).toEqual({ status: 0, lines: [] });
});

it('deploy/geode.service ends only the host, and keeps the sockets of sandboxes', () => {
  const lines = readFileSync(unit, 'utf8').split('\n');
  for (const line of ['KillMode=process', 'RuntimeDirectoryPreserve=yes', 'Delegate=yes'])
    expect(lines).toContain(line);
});
