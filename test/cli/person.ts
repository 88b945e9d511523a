/** A simulated person at a terminal: types, reads the screen, resizes the window, closes it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import headless from '@xterm/headless';
import { eventually, fixture } from '../contracts/harness.ts';

export interface Person extends AsyncDisposable {
  /** How the program ended. */
  readonly over: Promise<number | null>;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  /** Closes the window. */
  close(): void;
  signal(name: 'SIGKILL' | 'SIGTERM' | 'SIGHUP' | 'SIGINT'): void;
  /** The lines that the terminal shows now. */
  screen(): string;
  /** Waits until the screen shows it. */
  sees(words: string | RegExp): Promise<void>;
  /** All output that was written to the terminal. */
  written(): string;
}

export interface Seat {
  readonly env: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
}

export function sitDown(argv: readonly string[], { env, columns = 80, rows = 24 }: Seat): Person {
  const child = spawn('python3', [fixture('terminal.py'), String(columns), String(rows), ...argv], {
    env: { ...env, TERM: 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece: Buffer) => {
    pieces.push(piece);
    terminal.write(piece);
  });
  // A terminal answers what programs ask of it.
  terminal.onData((answer) => order({ type: Buffer.from(answer).toString('base64') }));
  child.stdin.on('error', () => {});
  const over = once(child, 'close').then(([code]): number | null => code);
  const order = (what: object) => child.stdin.write(`${JSON.stringify(what)}\n`);
  const screen = () => {
    const { active } = terminal.buffer;
    const lines = Array.from({ length: terminal.rows }, (_, row) =>
      active.getLine(active.baseY + row)?.translateToString(true),
    );
    return lines.join('\n').trimEnd();
  };
  return {
    over,
    screen,
    written: () => Buffer.concat(pieces).toString('latin1'),
    type: (keys) => order({ type: Buffer.from(keys).toString('base64') }),
    resize(width, height) {
      terminal.resize(width, height);
      order({ resize: [width, height] });
    },
    close: () => order({ close: true }),
    signal: (name) => order({ signal: name }),
    async sees(words) {
      const isThere = async () =>
        typeof words === 'string' ? screen().includes(words) : words.test(screen());
      await eventually(isThere, `${words} on the screen`, 120_000).catch((error) => {
        throw new Error(`${error.message}; the screen shows:\n${screen()}`);
      });
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) order({ signal: 'SIGKILL' });
      await over;
      terminal.dispose();
    },
  };
}
