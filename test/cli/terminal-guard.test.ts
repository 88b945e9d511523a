import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detachKeys } from '../../src/cli/terminal/detach-keys.ts';
import { TerminalGuard } from '../../src/cli/terminal/terminal-guard.ts';
import { eventually } from '../contracts/harness.ts';

const passed = (...pieces: readonly string[]) => {
  const guard = new TerminalGuard();
  return pieces.map((piece) => Buffer.from(guard.pass(Buffer.from(piece))).toString()).join('');
};

const legible = (text: string) => text.replaceAll('\x1b', '<ESC>').replaceAll('\u009d', '<OSC>');

describe('CLI-1: output of a sandbox at a terminal', () => {
  it.each([
    ['text', 'héllo wörld „“ 日本 🎉\r\n'],
    ['colours and moves', '\x1b[1;31mred\x1b[0m\x1b[2J\x1b[H\x1b[10;20Hx\x1b7\x1b8\x1b(0lqk\x1b(B'],
    ['modes', '\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1000h\x1b[?1h\x1b='],
    ['questions that programs ask', '\x1b[c\x1b[6n\x1b[>q'],
    ['titles', '\x1b]0;a title\x07\x1b]2;ünïcode\x1b\\'],
    ['colours by OSC', '\x1b]4;1;rgb:ff/00/00\x1b\\\x1b]11;?\x07\x1b]104\x07'],
    ['links', '\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\'],
  ])('passes %s', (_, sequence) => {
    expect(passed(sequence)).toBe(sequence);
    expect(passed(...sequence)).toBe(sequence);
  });

  it.each([
    ['the clipboard', '\x1b]52;c;aGVsbG8=\x07'],
    ['the clipboard in the second set of controls', '\u009d52;c;aGVsbG8=\u009c'],
    ['files of a terminal', '\x1b]1337;File=inline=1:AAAA\x07'],
    ['notifications', '\x1b]9;hi\x07\x1b]777;notify;a;b\x1b\\'],
    ['device strings', '\x1bP+q544e\x1b\\\x1bP$qm\x1b\\'],
    ['graphics that name files', '\x1b_Gt=f;L2V0Yy9wYXNzd2Q=\x1b\\'],
    ['other strings', '\x1b^private\x1b\\\x1bXstart\x1b\\'],
    ['a title with a command in it', '\x1b]0;a\u009d52;c;aGVsbG8=\x07'],
    ['a title without an end', `\x1b]0;${'x'.repeat(10_000)}\x07`],
  ])('drops %s', (_, sequence) => {
    expect(passed(`a${sequence}b`)).toBe('ab');
    expect(passed(...`a${sequence}b`)).toBe('ab');
  });

  it('removes every string command that is not on the list, with random text around it', () => {
    const parts = fc.constantFrom(
      '\x1b]',
      '\u009d',
      '52;c;x',
      '0;t',
      '\x07',
      '\x1b\\',
      '\x1b',
      '\x1b[',
      '\x18',
      'P',
      '_',
      '[',
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 30 }), (pieces) => {
        const shown = legible(passed(...pieces));
        expect(shown).not.toMatch(/(?:<ESC>\]|<OSC>)52/);
        expect(shown).not.toMatch(/<ESC>[P_^X]/);
      }),
      { numRuns: 2_000, examples: [[['\x1b', '\u009d', '52;c;x']], [['\x1b[', '\u009d', '52;c;x']]] },
    );
  });

  it('restores the terminal on leaving: main screen, mouse off, cursor visible', () => {
    const guard = new TerminalGuard();
    expect(guard.leave()).not.toContain('1049');
    guard.pass(Buffer.from('\x1b[?1049h\x1b[?1003h\x1b[?25l'));
    expect(legible(guard.leave())).toMatch(/<ESC>\[\?1049l.*<ESC>\[\?1003l.*<ESC>\[\?25h/);
    guard.pass(Buffer.from('\x1b[?1049l'));
    expect(guard.leave()).not.toContain('1049');
  });

  it('Ctrl-P Ctrl-Q leaves; each key alone is sent to the sandbox', async () => {
    let sent = '';
    let left = 0;
    const keys = detachKeys(
      (bytes) => {
        sent += Buffer.from(bytes).toString();
      },
      () => {
        left += 1;
      },
    );
    keys.type(Buffer.from('a\x11b\x10'));
    expect(sent).toBe('a\x11b');
    await eventually(async () => sent === 'a\x11b\x10', 'the key alone');
    keys.type(Buffer.from('\x10'));
    keys.type(Buffer.from('c'));
    expect([sent, left]).toEqual(['a\x11b\x10\x10c', 0]);
    keys.type(Buffer.from('d\x10'));
    keys.type(Buffer.from('\x11never'));
    expect([sent, left]).toEqual(['a\x11b\x10\x10cd', 1]);
    keys.end();
  });
});
