import type { Cancel } from '../base/cancel.ts';
import { throwIfCancelled } from '../base/cancel.ts';
import type { Journal } from '../seams/journal.ts';
import type { TerminalSize } from '../seams/process.ts';

/** The screen of a terminal after the whole output of a process. */
export interface Screen {
  readonly size: TerminalSize;
  /**
   * Printed on an empty terminal of that size, it shows the screen again: text, colours, the cursor and the
   * modes that the program asked for, with the lines that were scrolled out above. It is made from the cells
   * of an emulator, so that nothing of what the process wrote is in it besides text: no title, no clipboard,
   * no question that the terminal would answer.
   */
  readonly content: string;
  /** Where the journal goes on. */
  readonly offset: number;
}

export interface ScreenOptions extends Cancel {
  /** Lines above the screen that are kept. */
  readonly scrollback?: number;
  /** The size that it is shown at, if another: the terminal is made larger or smaller at the end. */
  readonly showAt?: TerminalSize;
}

const defaultScrollback = 1_000;
const smallest = { columns: 2, rows: 1 } as const;
const usual: TerminalSize = { columns: 80, rows: 24 };
/** The emulator takes it all in at once, and pauses between two such turns. */
const turnBytes = 256 * 1024;
/** Ends a sequence that a gap in the journal cut in two. */
const cancelSequence = '\x18';

/**
 * The screen of a process from its journal, at a size: all that is on record is written to an emulator. Where
 * the terminal had another size before, lines break as they would at this one.
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

/** A terminal that was given no size says 0. */
function usable({ columns, rows }: TerminalSize): TerminalSize {
  if (columns === 0 || rows === 0) return usual;
  return { columns: Math.max(columns, smallest.columns), rows: Math.max(rows, smallest.rows) };
}

interface Emulator {
  write(bytes: string | Uint8Array): void;
  /** When everything written is on the screen. */
  settled(): Promise<void>;
  resize(size: TerminalSize): void;
  content(): string;
  dispose(): void;
}

/** Loaded only here: who never looks at a screen does not pay for it. */
async function openEmulator({ columns, rows }: TerminalSize, scrollback: number): Promise<Emulator> {
  const [{ default: headless }, { default: serialize }] = await Promise.all([
    import('@xterm/headless'),
    import('@xterm/addon-serialize'),
  ]);
  const terminal = new headless.Terminal({ cols: columns, rows, scrollback, allowProposedApi: true });
  const serializer = new serialize.SerializeAddon();
  terminal.loadAddon(serializer);
  let cursor: 'shown' | 'hidden' = 'shown';
  // The serializer leaves the cursor's visibility out.
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
