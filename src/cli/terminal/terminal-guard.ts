/**
 * Stands between a sandbox and the terminal of a person. Text, colours, cursor moves and modes pass as they
 * are, or full-screen programs would not work. What would reach beyond the screen is dropped: of the commands
 * that carry text to the terminal only titles, colours, links and prompt marks pass; the clipboard, files,
 * notifications and everything that is not known do not.
 */
export class TerminalGuard {
  #state: State = 'ground';
  #shown: number[] = [];
  /** A sequence that is being collected: it passes as a whole or not at all. */
  #held: number[] = [];
  #kind: 'osc' | 'other' = 'other';
  #parameters = '';
  #alternate = false;

  /** The part of the bytes that may be shown. A sequence that is cut off here continues in the next call. */
  pass(bytes: Uint8Array): Uint8Array {
    this.#shown = [];
    for (const byte of bytes) this.#take(byte);
    return Uint8Array.from(this.#shown);
  }

  /** Restores the terminal when the user leaves a program that continues. */
  leave(): string {
    return `\x18${this.#alternate ? '\x1b[?1049l' : ''}${usual}`;
  }

  #take(byte: number): void {
    if (this.#state === 'ground') this.#text(byte);
    else if (this.#state === 'escape') this.#escaped(byte);
    else if (this.#state === 'c1') this.#c1(byte);
    else if (this.#state === 'csi') this.#control(byte);
    else if (this.#state === 'string') this.#collect(byte);
    else this.#terminate(byte, this.#state === 'string-escape' ? [esc, backslash] : [c1Lead, c1Terminator]);
  }

  #text(byte: number): void {
    if (byte === esc) this.#state = 'escape';
    else if (byte === c1Lead) this.#state = 'c1';
    else this.#shown.push(byte);
  }

  /** Handles the byte after ESC. A C1 control ends the sequence and keeps its own meaning. */
  #escaped(byte: number): void {
    if (byte === c1Lead) this.#state = 'c1';
    else if (byte !== esc) this.#open([esc, byte], byte);
  }

  /** In UTF-8 a control of the second set is 0xc2 and its number; it means the same as ESC and a letter. */
  #c1(byte: number): void {
    if (byte >= 0x80 && byte <= 0x9f) this.#open([c1Lead, byte], byte - 0x40);
    else {
      this.#state = 'ground';
      this.#shown.push(c1Lead);
      this.#take(byte);
    }
  }

  #open(sequence: readonly number[], letter: number): void {
    const opening = String.fromCharCode(letter);
    if ('PX^_]'.includes(opening)) {
      this.#state = 'string';
      this.#kind = opening === ']' ? 'osc' : 'other';
      this.#held = [...sequence];
      return;
    }
    if (opening === 'c') this.#alternate = false;
    this.#state = opening === '[' ? 'csi' : 'ground';
    this.#parameters = '';
    this.#shown.push(...sequence);
  }

  #control(byte: number): void {
    if (byte === esc || byte === c1Lead) {
      this.#state = byte === esc ? 'escape' : 'c1';
      return;
    }
    this.#shown.push(byte);
    if (byte === cancel || byte === substitute) this.#state = 'ground';
    else if (byte >= 0x40 && byte <= 0x7e) {
      this.#noteMode(String.fromCharCode(byte));
      this.#state = 'ground';
    } else if (this.#parameters.length < 64) this.#parameters += String.fromCharCode(byte);
  }

  #noteMode(final: string): void {
    if ((final !== 'h' && final !== 'l') || !this.#parameters.startsWith('?')) return;
    const modes = this.#parameters.slice(1).split(';');
    if (modes.some((mode) => alternateModes.has(mode))) this.#alternate = final === 'h';
  }

  #collect(byte: number): void {
    if (byte === bell && this.#kind === 'osc') this.#finish([bell]);
    else if (byte === cancel || byte === substitute) this.#state = 'ground';
    else if (byte === esc) this.#state = 'string-escape';
    else if (byte === c1Lead) this.#state = 'string-c1';
    else this.#hold(byte);
  }

  /** A terminator may also be part of the string, or the start of another sequence. */
  #terminate(byte: number, terminator: readonly [number, number]): void {
    const [lead, last] = terminator;
    if (byte === last) {
      this.#finish(terminator);
      return;
    }
    if (lead === c1Lead) this.#hold(c1Lead);
    this.#state = lead === c1Lead ? 'string' : 'escape';
    this.#take(byte);
  }

  #hold(byte: number): void {
    if (this.#held.length <= longest) this.#held.push(byte);
  }

  #finish(terminator: readonly number[]): void {
    this.#state = 'ground';
    const body = Buffer.from(this.#held).toString('utf8', 2);
    const [number = ''] = body.split(';', 1);
    if (this.#kind === 'osc' && this.#held.length <= longest && allowed.has(number) && isPlain(body))
      this.#shown.push(...this.#held, ...terminator);
  }
}

type State = 'ground' | 'escape' | 'c1' | 'csi' | 'string' | 'string-escape' | 'string-c1';

const esc = 0x1b;
const backslash = 0x5c;
const bell = 0x07;
const cancel = 0x18;
const substitute = 0x1a;
const c1Lead = 0xc2;
const c1Terminator = 0x9c;
const longest = 4 * 1024;

const alternateModes: ReadonlySet<string> = new Set(['47', '1047', '1049']);

/** Titles, colours, links, prompt marks. */
const allowed: ReadonlySet<string> = new Set(
  [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112, 133].map(String),
);

/** Whether the body contains no byte that a terminal could read as the end of the sequence. */
function isPlain(body: string): boolean {
  return !/[\p{Cc}\ufffd]/u.test(body);
}

/** Attributes, character set, keys, wrapping, mouse, focus, paste, margins and cursor as a shell expects them. */
const usual = [
  '\x1b[0m\x1b(B\x0f',
  '\x1b[?1l\x1b>\x1b[4l\x1b[?7h',
  '\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l',
  '\x1b[?1004l\x1b[?2004l',
  '\x1b7\x1b[r\x1b8',
  '\x1b[?25h',
].join('');
