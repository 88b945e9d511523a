import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { GeodeError } from '../core/errors.ts';
import type { Journal, Journals } from '../core/journal.ts';
import type { ExitFacts, ProcessEvent } from '../core/process.ts';
import { encodeHeader, type Frame, FrameReader, frameTypes, headerBytes } from '../link/frames.ts';

export interface JournalPolicy {
  /** Bytes of output that are kept of one process; what comes after is counted. */
  readonly keepBytes: number;
  /** Finished journals that are kept of one sandbox; the oldest go first. */
  readonly keepFinished: number;
}

const defaultJournalPolicy: JournalPolicy = { keepBytes: 32 * 1024 ** 2, keepFinished: 256 };

const readBytes = 64 * 1024;
const suffix = '.journal';

/**
 * The journals of one sandbox as files of frames, one a process. A write is in the kernel's hands when
 * `append` returns, so the death of the host loses nothing; a frame cut off by it is dropped on opening.
 */
export function journalFiles(folder: string, policy: JournalPolicy = defaultJournalPolicy): Journals {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const finished: string[] = readdirSync(folder).filter((name) => name.endsWith(suffix));
  const fileOf = (processId: string) => join(folder, `${checked(processId)}${suffix}`);
  return {
    has: (processId) => existsSync(fileOf(processId)),
    open(processId) {
      return new JournalFile(fileOf(processId), policy, () => {
        finished.push(`${processId}${suffix}`);
        for (const name of finished.splice(0, finished.length - policy.keepFinished)) {
          rmSync(join(folder, name), { force: true });
        }
      });
    },
  };
}

function checked(processId: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(processId)) return processId;
  throw new GeodeError('process_not_found', `There is no process ${JSON.stringify(processId)}.`);
}

class JournalFile implements Journal {
  readonly #path: string;
  readonly #policy: JournalPolicy;
  readonly #onFinish: () => void;
  #file: number | undefined;
  #length = 0;
  #exit: ExitFacts | undefined;

  constructor(path: string, policy: JournalPolicy, onFinish: () => void) {
    this.#path = path;
    this.#policy = policy;
    this.#onFinish = onFinish;
    if (existsSync(path)) this.#recover();
  }

  get length(): number {
    return this.#length;
  }

  get exit(): ExitFacts | undefined {
    return this.#exit;
  }

  append(kind: 'stdout' | 'stderr', bytes: Uint8Array, offset: number): void {
    const covered = this.#length - offset;
    if (covered >= bytes.length) return;
    const fresh = covered > 0 ? bytes.subarray(covered) : bytes;
    const room = this.#policy.keepBytes - this.#length;
    if (room > 0) this.#write(frameTypes[kind], fresh.subarray(0, room), this.#length);
    this.#length += fresh.length;
  }

  finish(exit: ExitFacts): void {
    if (this.#exit !== undefined) return;
    this.#exit = exit;
    this.#write(frameTypes.exit, Buffer.from(JSON.stringify(exit)), this.#length);
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#onFinish();
  }

  *read(from: number): Generator<ProcessEvent> {
    let next = from;
    for (const frame of framesIn(this.#path)) {
      const end = frame.offset + frame.payload.length;
      if (frame.type !== frameTypes.exit && end <= next) continue;
      if (frame.offset > next) yield { type: 'output-lost', offset: next, length: frame.offset - next };
      if (frame.type === frameTypes.exit) yield { type: 'exit', ...exitOf(frame) };
      else {
        const bytes = frame.payload.subarray(Math.max(next - frame.offset, 0));
        yield {
          type: frame.type === frameTypes.stdout ? 'stdout' : 'stderr',
          bytes,
          offset: Math.max(next, frame.offset),
        };
      }
      next = Math.max(next, end);
    }
    if (this.#exit === undefined && next < this.#length) {
      yield { type: 'output-lost', offset: next, length: this.#length - next };
    }
  }

  #write(type: number, payload: Uint8Array, offset: number): void {
    this.#file ??= openSync(this.#path, 'a', 0o600);
    writeSync(this.#file, Buffer.concat([encodeHeader(type, payload.length, offset), payload]));
  }

  #recover(): void {
    let whole = 0;
    for (const frame of framesIn(this.#path)) {
      whole += headerBytes + frame.payload.length;
      this.#length = frame.offset;
      if (frame.type === frameTypes.exit) this.#exit = exitOf(frame);
      else this.#length += frame.payload.length;
    }
    const file = openSync(this.#path, 'r+');
    ftruncateSync(file, whole);
    closeSync(file);
  }
}

function* framesIn(path: string): Generator<Frame> {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r');
  try {
    const reader = new FrameReader();
    for (;;) {
      const chunk = Buffer.allocUnsafe(readBytes);
      const length = readSync(file, chunk);
      if (length === 0) return;
      yield* reader.read(chunk.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
}

/** Written by this class and by nothing else. */
function exitOf(frame: Frame): ExitFacts {
  return JSON.parse(Buffer.from(frame.payload).toString()) as ExitFacts;
}
