import { describe, expect, it } from 'vitest';
import { type FinishedCommand, formatResult } from '../../src/shell/format.ts';

const clean: FinishedCommand = {
  exitCode: 0,
  signal: null,
  timedOut: false,
  oomKilled: false,
  durationMs: 12,
  stdout: '',
  stderr: '',
  dropped: { stdout: 0, stderr: 0 },
};

describe('a finished command', () => {
  it('SH-5: a success is only its output', () => {
    expect(formatResult({ ...clean, stdout: 'hello\n' })).toBe('hello');
    expect(formatResult({ ...clean, stdout: ' two\nlines \n\n' })).toBe(' two\nlines \n');
  });

  it('SH-5: a success without output is reported as such', () => {
    expect(formatResult(clean)).toBe('[No output]');
  });

  it('SH-5: stderr follows under its heading, then the exit code', () => {
    expect(formatResult({ ...clean, exitCode: 2, stdout: 'out\n', stderr: 'bad\n' })).toBe(
      'out\n--- stderr ---\nbad\n[Exit code: 2]',
    );
    expect(formatResult({ ...clean, stderr: 'warning\n' })).toBe('--- stderr ---\nwarning');
    expect(formatResult({ ...clean, exitCode: 1 })).toBe('[Exit code: 1]');
  });

  it('SH-5: a killed command is never shown as a success', () => {
    const dead = { ...clean, exitCode: null, stdout: 'part' };
    expect(formatResult({ ...dead, signal: 'SIGKILL' })).toBe('part\n[Killed by SIGKILL]');
    expect(formatResult({ ...dead, signal: 'SIGKILL', oomKilled: true })).toBe('part\n[Out of memory]');
    expect(formatResult(dead)).toBe('part\n[Ended without an exit code]');
  });

  it('SH-5: a timeout keeps the earlier output and names the limit', () => {
    const late = { ...clean, exitCode: null, signal: 'SIGKILL', timedOut: true, stdout: 'part\n' };
    expect(formatResult({ ...late, durationMs: 60_004 })).toBe('part\n[Timed out after 60 s]');
    expect(formatResult({ ...late, durationMs: 1_500 })).toBe('part\n[Timed out after 1.5 s]');
  });

  it('SH-5: counts omitted output and explains how to read it', () => {
    const long = {
      ...clean,
      stdout: 'abcdef',
      stderr: 'xyz',
      dropped: { stdout: 1230, stderr: 0 },
      processId: 'p7',
    };
    expect(formatResult(long, { limitBytes: 2 })).toBe(
      [
        'ab',
        '--- stderr ---',
        'xy',
        '[Output truncated: 1,234 bytes of stdout left out; read the rest with the journal of process p7]',
        '[Output truncated: 1 bytes of stderr left out; read the rest with the journal of process p7]',
      ].join('\n'),
    );
    const { processId: _, ...nameless } = long;
    expect(formatResult(nameless, { limitBytes: 100 })).toContain(
      '1,230 bytes of stdout left out; write it to a file and read that in parts]',
    );
  });

  it('SH-5: no character is cut in half', () => {
    expect(formatResult({ ...clean, stdout: 'aé€𝕏' }, { limitBytes: 2 })).toMatch(
      /^a\n\[Output truncated: 9 bytes/,
    );
    expect(formatResult({ ...clean, stdout: 'aé€𝕏' }, { limitBytes: 3 })).toMatch(
      /^aé\n\[Output truncated: 7 bytes/,
    );
    expect(formatResult({ ...clean, stdout: 'aé€𝕏' }, { limitBytes: 10 })).toBe('aé€𝕏');
  });
});
