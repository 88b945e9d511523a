import headless from '@xterm/headless';
import { describe, expect, it } from 'vitest';
import { screenOf } from '../../src/journals/screen.ts';
import type { ProcessEvent } from '../../src/seams/process.ts';

const size = { columns: 40, rows: 6 };

/** A journal of these pieces; a number is so much that is lost. */
function journal(...pieces: readonly (string | number)[]) {
  return {
    *read(): Generator<ProcessEvent> {
      let offset = 0;
      for (const piece of pieces) {
        if (typeof piece === 'number') yield { type: 'output-lost', offset, length: piece };
        else yield { type: 'stdout', bytes: Buffer.from(piece), offset };
        offset += typeof piece === 'number' ? piece : Buffer.byteLength(piece);
      }
    },
  };
}

/** The screen of a terminal after printing the content. */
async function shown(content: string, { columns, rows } = size) {
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
  const answers: string[] = [];
  terminal.onData((answer) => answers.push(answer));
  await new Promise<void>((resolve) => terminal.write(content, resolve));
  const { active } = terminal.buffer;
  const lines = Array.from({ length: rows }, (_, row) =>
    active.getLine(active.baseY + row)?.translateToString(true),
  );
  return { lines, cursor: [active.cursorX, active.cursorY], type: active.type, answers };
}

describe('PROC-1: the screen of a process from its journal', () => {
  it('shows text, colours and the cursor again', async () => {
    const { content, offset } = await screenOf(journal('one\r\n', '\x1b[31mred\x1b[0m two\r\n$ '), size);
    expect(await shown(content)).toMatchObject({
      lines: ['one', 'red two', '$ ', '', '', ''],
      cursor: [2, 2],
    });
    expect(content).toContain('\x1b[31m');
    expect(offset).toBe(Buffer.byteLength('one\r\n\x1b[31mred\x1b[0m two\r\n$ '));
  });

  it('shows a full-screen program, and restores the earlier screen', async () => {
    const { content } = await screenOf(
      journal('before\r\n', '\x1b[?1049h\x1b[2J\x1b[3;5Hwhole screen\x1b[?25l'),
      size,
    );
    expect(await shown(content)).toMatchObject({
      type: 'alternate',
      lines: ['', '', '    whole screen', '', '', ''],
    });
    expect(content).toContain('\x1b[?25l');
    expect((await shown(`${content}\x1b[?1049l`)).lines[0]).toBe('before');
  });

  it('drops sequences that control the terminal: queries, clipboard, title and device strings', async () => {
    const hostile =
      '\x1b[c\x1b[6n\x1b[5n\x1b]52;c;aGVsbG8=\x07\x1b]0;title\x07\x1b]8;;http://x\x07l\x1b]8;;\x07\x1bP$qm\x1b\\\x1b[21t\x05\x1b_Gt=f;x\x1b\\text\u009d52;c;eA==\u009c\x1b[?1004h';
    const { content } = await screenOf(journal(...hostile), size);
    expect((await shown(content)).lines[0]).toBe('ltext');
    expect((await shown(content)).answers).toEqual([]);
    expect(content.replaceAll('\x1b', '<ESC>')).not.toMatch(/<ESC>[\]P_^X]|[^\P{Cc}\r\n]/u);
  });

  it('continues after a gap in the journal, also in the middle of an escape sequence', async () => {
    const { content, offset } = await screenOf(journal('a\x1b]0;title', 100, 'b'), size);
    expect((await shown(content)).lines[0]).toBe('ab');
    expect(offset).toBe(Buffer.byteLength('a\x1b]0;title') + 100 + 1);
  });

  it('is shown at another size; an unknown size becomes the default size', async () => {
    const showAt = { columns: 20, rows: 4 };
    const wide = await screenOf(journal('x'.repeat(30), '\r\nend'), size, { showAt });
    expect(wide.size).toEqual(showAt);
    expect((await shown(wide.content, showAt)).lines.slice(0, 3)).toEqual([
      'x'.repeat(20),
      'x'.repeat(10),
      'end',
    ]);
    expect((await screenOf(journal('x'), { columns: 0, rows: 0 })).size).toEqual({ columns: 80, rows: 24 });
  });

  it('keeps the screen and a limited number of lines above it', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}\r\n`);
    const { content } = await screenOf(journal(...lines), size, { scrollback: 10 });
    expect((await shown(content)).lines).toEqual(
      [19995, 19996, 19997, 19998, 19999].map((n) => `line ${n}`).concat(''),
    );
    expect(content).not.toContain('line 19900');
  });
});
