/** The progress of a pull and a build at a terminal, in a pipe, and as JSON. */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { buildDisplay } from '../../src/cli/render/show-build.ts';
import type { BuildEvent } from '../../src/seams/images.ts';

const image = 'geode/base';
const events: readonly BuildEvent[] = [
  { type: 'pull-progress', image: 'debian', receivedBytes: 50e6, totalBytes: 100e6, status: 'layers' },
  { type: 'build-step', image, step: 1, steps: 2, instruction: 'FROM debian' },
  { type: 'build-output', image, line: 'Reading \x1b[31mpackage lists' },
  { type: 'build-step', image, step: 2, steps: 2, instruction: 'RUN true' },
];

function shown(to: { readonly isTTY: boolean; readonly json: boolean }): string {
  const stderr = Object.assign(new PassThrough(), { isTTY: to.isTTY });
  const streams = {
    stdin: new PassThrough(),
    inputKind: () => 'none' as const,
    closeInput: () => {},
    stdout: new PassThrough(),
    stderr,
    setRaw: () => {},
  };
  const err = (line: string) => void stderr.write(`${line}\n`);
  const display = buildDisplay({ json: to.json, streams, err }, false);
  for (const event of events) display.show(event);
  display.end();
  return stderr.read()?.toString() ?? '';
}

describe('CLI-1: the progress of pulls and builds', () => {
  it('shows a bar and the current line at a terminal, and erases both before other output', () => {
    const bar = `${'█'.repeat(15)}${'░'.repeat(15)}`;
    expect(shown({ isTTY: true, json: false })).toBe(
      `\rpulling debian ${bar} 50.0/100.0 MB layers\x1b[K\r\x1b[K` +
        'geode/base 1/2 FROM debian\n\r  Reading package lists\x1b[K\r\x1b[Kgeode/base 2/2 RUN true\n',
    );
  });

  it('prints whole lines to a pipe, and nothing with --json', () => {
    expect(shown({ isTTY: false, json: false })).toBe(
      'pulling debian\ngeode/base 1/2 FROM debian\ngeode/base 2/2 RUN true\n',
    );
    expect(shown({ isTTY: true, json: true })).toBe('');
  });
});
