import type { Cancel } from '../base/cancel.ts';
import { throwIfCancelled } from '../base/cancel.ts';
import type { Journal } from '../seams/journal.ts';
import type { TerminalSize } from '../seams/process.ts';

/** The screen of a terminal after the whole output of a process. */
export interface Screen {
  readonly size: TerminalSize;
  /**
   * The text that restores the screen on an empty terminal of that size: text, colours, the cursor and modes, plus
   * the lines scrolled out above. It is built from the cells of an emulator, so it contains only text of the process:
   * no title, no clipboard, no query that the terminal would answer.
   */
  readonly content: string;
  /** The journal offset to continue from. */
  readonly offset: number;
}

export interface ScreenOptions extends Cancel {
  /** Number of lines kept above the screen. */
  readonly scrollback?: number;
  /** The target size, if it differs: the terminal is resized at the end. */
  readonly showAt?: TerminalSize;
}

const defaultScrollback = 1_000;
const smallest = { columns: 2, rows: 1 } as const;
const usual: TerminalSize = { columns: 80, rows: 24 };
/** The emulator parses this much at once, with a pause before the next part. */
const turnBytes = 256 * 1024;
/** Ends an escape sequence that a gap in the journal cut in two. */
const cancelSequence = '\x18';

/**
 * The screen of a process at a size: its whole journal is written to an emulator. If the terminal had another size
 * before, lines break as they would at this one.
 */
export async function screenOf(
  journal: Pick<Journal, 'read'>,
  asked: TerminalSize,
  { scrollback = defaultScrollback, showAt = asked, signal }: ScreenOptions = {},
): Promise<Screen> {
  const size = usable(showAt);
  const emulator = await openEmulator(usable(asked), scrollback);
  try {
    let offset = 0;
    let waiting = 0;
    for (const event of journal.read(0)) {
      if (event.type === 'exit') continue;
      const isLost = event.type === 'output-lost';
      const length = isLost ? event.length : event.bytes.length;
      offset = event.offset + length;
      emulator.write(isLost ? cancelSequence : event.bytes);
      waiting += length;
      if (waiting < turnBytes) continue;
      await emulator.settled();
      throwIfCancelled(signal, 'Reading the screen');
      waiting = 0;
    }
    await emulator.settled();
    emulator.resize(size);
    return { size, content: emulator.content(), offset };
  } finally {
    emulator.dispose();
  }
}

/** A terminal without a size reports 0. */
function usable({ columns, rows }: TerminalSize): TerminalSize {
  if (columns === 0 || rows === 0) return usual;
  return { columns: Math.max(columns, smallest.columns), rows: Math.max(rows, smallest.rows) };
}

interface Emulator {
  write(bytes: string | Uint8Array): void;
  /** Resolves when everything written is on the screen. */
  settled(): Promise<void>;
  resize(size: TerminalSize): void;
  content(): string;
  dispose(): void;
}

/** Loaded only here, so that it costs nothing until somebody opens a screen. */
async function openEmulator({ columns, rows }: TerminalSize, scrollback: number): Promise<Emulator> {
  const [{ default: headless }, { default: serialize }] = await Promise.all([
    import('@xterm/headless'),
    import('@xterm/addon-serialize'),
  ]);
  const terminal = new headless.Terminal({ cols: columns, rows, scrollback, allowProposedApi: true });
  const serializer = new serialize.SerializeAddon();
  terminal.loadAddon(serializer);
  let cursor: 'shown' | 'hidden' = 'shown';
  // The serializer leaves out whether the cursor is visible.
  const note = (final: 'h' | 'l', state: typeof cursor) =>
    terminal.parser.registerCsiHandler({ prefix: '?', final }, (modes) => {
      if (modes.includes(25)) cursor = state;
      return false;
    });
  note('h', 'shown');
  note('l', 'hidden');
  terminal.parser.registerEscHandler({ final: 'c' }, () => {
    cursor = 'shown';
    return false;
  });
  return {
    write: (bytes) => terminal.write(bytes),
    settled: () => new Promise((resolve) => terminal.write('', resolve)),
    resize: (size) => terminal.resize(size.columns, size.rows),
    content: () => serializer.serialize() + (cursor === 'hidden' ? '\x1b[?25l' : ''),
    dispose: () => terminal.dispose(),
  };
}
