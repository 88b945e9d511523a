import { constants } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { protocolError } from '../base/protocol-error.ts';
import type { Journal } from '../seams/journal.ts';
import type { Process, ProcessEvent, SignalName, TerminalSize } from '../seams/process.ts';
import { type GuestCommand, joinAttachment, type ProcessAttachment, startAttachment } from './attachment.ts';
import { encodeFrame, encodeJson, type Frame, frameTypes, largestPayload } from './frames.ts';
import type { Link } from './link.ts';
import { linkLost, parseJson } from './request.ts';
import { guestExitSchema } from './schemas.ts';

/** Acks cost a frame each, so one is sent for this much output. */
const ackEveryBytes = 256 * 1024;
const mostIdleAttachments = 20;
const longestPauseMs = 1_000;
const pausedLookMs = 100;

/** One process, across all connections needed to follow it to its end. */
export class ProcessStream implements Process {
  readonly id: string;
  readonly pid: number;
  readonly #link: Link;
  readonly #journal: Journal | undefined;
  #attachment: ProcessAttachment;
  #offset: number;
  #acked: number;
  #reading = false;
  #dropped = false;
  /** Successive attachments without any event. */
  #idleAttachments = 0;

  private constructor(
    link: Link,
    id: string,
    attachment: ProcessAttachment,
    from: number,
    journal: Journal | undefined,
  ) {
    this.id = id;
    this.pid = attachment.pid;
    this.#link = link;
    this.#attachment = attachment;
    this.#journal = journal;
    this.#offset = from;
    this.#acked = from;
  }

  static async start(
    link: Link,
    command: GuestCommand,
    journal?: Journal,
    cancel: Cancel = {},
  ): Promise<ProcessStream> {
    return new ProcessStream(link, command.id, await startAttachment(link, command, cancel), 0, journal);
  }

  static async join(
    link: Link,
    id: string,
    from: number,
    journal?: Journal,
    cancel: Cancel = {},
  ): Promise<ProcessStream> {
    const attachment = await joinAttachment(link, id, from, cancel);
    return new ProcessStream(link, id, attachment, from, journal);
  }

  /** Total time that its sandbox has been paused. */
  get pausedMs(): number {
    return this.#link.pausedMs;
  }

  /** The offset of the next byte. */
  get offset(): number {
    return this.#offset;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent> {
    if (this.#reading)
      throw new GeodeError('invalid_input', `Process ${this.id} is being read through this handle.`);
    this.#reading = true;
    try {
      for (;;) {
        try {
          for await (const frame of this.#attachment.frames) {
            const event = this.#eventOf(frame);
            yield event;
            if (event.type === 'exit') return;
            this.#ack();
          }
          throw linkLost();
        } catch (error) {
          if (!isGeodeError(error, 'link_lost')) throw error;
        }
        if (this.#dropped) return;
        try {
          this.#attachment = await this.#reattach();
        } catch (error) {
          if (this.#dropped) return;
          if (!this.#leftBehind(error)) throw error;
          yield* this.#catchUp();
          if (this.#journal?.exit !== undefined) return;
        }
      }
    } finally {
      this.#reading = false;
      this.#attachment.stream.close(constants.NGHTTP2_NO_ERROR);
    }
  }

  /** Stops reading, even while it waits for a silent guest. */
  drop(): void {
    this.#dropped = true;
    this.#attachment.stream.destroy();
  }

  async write(bytes: string | Uint8Array): Promise<void> {
    const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
    for (let at = 0; at < content.length; at += largestPayload) {
      await this.#send(encodeFrame(frameTypes.stdin, content.subarray(at, at + largestPayload)));
    }
  }

  closeStdin(): Promise<void> {
    return this.#send(encodeFrame(frameTypes.stdinEnd));
  }

  async signal(name: SignalName): Promise<void> {
    await signalProcess(this.#link, this.id, name, false);
  }

  async kill(): Promise<void> {
    await signalProcess(this.#link, this.id, 'SIGKILL', true);
  }

  resize(size: TerminalSize): Promise<void> {
    return this.#send(encodeJson(frameTypes.resize, size));
  }

  /** Records the frame in the journal first. */
  #eventOf({ type, offset, payload }: Frame): ProcessEvent {
    if (offset !== this.#offset) throw this.#broken(`offset ${offset} instead of ${this.#offset}`);
    if (type === frameTypes.exit) {
      const exit = parseJson(Buffer.from(payload), guestExitSchema);
      this.#journal?.finish(exit);
      this.#attachment.stream.end(encodeFrame(frameTypes.forget));
      return { type: 'exit', ...exit };
    }
    const kind = outputKind(type);
    if (kind === undefined) throw this.#broken(`a frame of type ${type}`);
    this.#journal?.append(kind, payload, offset);
    this.#offset += payload.length;
    this.#idleAttachments = 0;
    return { type: kind, bytes: payload, offset };
  }

  /** A faster handle made the guest drop output that this one has not read, after it was recorded. */
  #leftBehind(error: unknown): boolean {
    const forgotten = isGeodeError(error, 'invalid_input') || isGeodeError(error, 'process_not_found');
    return (
      forgotten &&
      this.#journal !== undefined &&
      (this.#journal.length > this.#offset || this.#journal.exit !== undefined)
    );
  }

  *#catchUp(): Generator<ProcessEvent> {
    for (const event of this.#journal?.read(this.#offset) ?? []) {
      if (event.type !== 'exit')
        this.#offset = event.offset + (event.type === 'output-lost' ? event.length : event.bytes.length);
      yield event;
    }
  }

  #broken(what: string): GeodeError {
    const error = protocolError(what);
    void this.#link.guarded(() => Promise.reject(error)).catch(() => {});
    return error;
  }

  #ack(): void {
    if (this.#offset - this.#acked < ackEveryBytes) return;
    this.#acked = this.#offset;
    this.#attachment.stream.write(encodeFrame(frameTypes.ack, undefined, this.#offset));
  }

  /** While the sandbox is paused no deadline applies. */
  async #reattach(): Promise<ProcessAttachment> {
    for (;;) {
      while (this.#link.paused && !this.#dropped) await delay(pausedLookMs);
      this.#idleAttachments += 1;
      if (this.#idleAttachments > mostIdleAttachments)
        throw this.#broken('it ends every stream without a reason');
      if (this.#idleAttachments > 1) await delay(Math.min(2 ** this.#idleAttachments, longestPauseMs));
      try {
        return await joinAttachment(this.#link, this.id, this.#offset);
      } catch (error) {
        const mayGoOn = isGeodeError(error, 'link_lost') || isGeodeError(error, 'sandbox_paused');
        if (!mayGoOn || this.#dropped) throw error;
      }
    }
  }

  async #send(frame: Buffer): Promise<void> {
    const { stream } = this.#attachment;
    if (stream.closed || stream.destroyed || stream.writableEnded) {
      throw new GeodeError('process_not_found', `Process ${this.id} accepts no more input.`);
    }
    await new Promise<void>((resolve, reject) => {
      const lost = () => reject(linkLost());
      stream.once('close', lost);
      stream.write(frame, (error) => {
        stream.off('close', lost);
        if (error) reject(linkLost(error));
        else resolve();
      });
    });
  }
}

export async function signalProcess(
  link: Link,
  id: string,
  signal: SignalName,
  tree: boolean,
  cancel: Cancel = {},
) {
  await link.call('POST', `/v1/processes/${id}/signal`, z.unknown(), { body: { signal, tree }, ...cancel });
}

function outputKind(type: number): 'stdout' | 'stderr' | undefined {
  if (type === frameTypes.stdout) return 'stdout';
  if (type === frameTypes.stderr) return 'stderr';
  return undefined;
}
