import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';

export interface MemoryCurve {
  readonly samples: number;
  /** Live after a collection of garbage: objects and buffers. The medians of the second and of the last quarter. */
  readonly early: number;
  readonly late: number;
  /** Resident, which V8 lets grow while the machine has memory: the lowest and the highest. */
  readonly resident: readonly [number, number];
}

/** A gateway starts with these arguments of Node when its memory is going to be sampled. */
export const inspected: readonly string[] = ['--inspect=127.0.0.1:0'];

const everyMs = 500;
const longestAnswerMs = 60_000;

/**
 * Samples the memory of a process, each time after a collection of garbage. Resident memory alone shows no leak: V8
 * collects late on a machine with much memory.
 */
export class MemorySamples implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #pid: number | undefined;
  readonly #live: number[] = [];
  readonly #resident: number[] = [];
  readonly #stop = new AbortController();
  readonly #sampling: Promise<void>;
  #failure: unknown;
  #requests = 0;

  private constructor(socket: WebSocket, pid: number | undefined) {
    this.#socket = socket;
    this.#pid = pid;
    this.#sampling = this.#sample().catch((error: unknown) => {
      this.#failure = error;
    });
  }

  /** `log` holds what the process wrote, with the address of its inspector. */
  static async of({ pid }: ChildProcess, log: readonly string[]): Promise<MemorySamples> {
    const address = [...log.join('').matchAll(/Debugger listening on (ws:\S+)/g)].at(-1)?.[1];
    if (address === undefined) throw new Error('the process was started without an inspector');
    const socket = new WebSocket(address, { perMessageDeflate: false });
    socket.on('error', () => {});
    await once(socket, 'open', { signal: AbortSignal.timeout(longestAnswerMs) });
    return new MemorySamples(socket, pid);
  }

  curve(): MemoryCurve {
    if (this.#failure !== undefined) throw this.#failure;
    const length = this.#live.length / 4;
    const [, early = 0, , late = 0] = [0, 1, 2, 3].map((number) => {
      const sorted = this.#live
        .slice(Math.floor(number * length), Math.ceil((number + 1) * length))
        .toSorted((a, b) => a - b);
      return sorted[Math.floor(sorted.length / 2)];
    });
    return {
      ...{ samples: this.#live.length, early, late },
      resident: [Math.min(...this.#resident), Math.max(...this.#resident)],
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#socket.terminate();
    await this.#sampling;
  }

  async #sample(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#resident.push(residentMiB(this.#pid));
      await this.#ask('HeapProfiler.collectGarbage');
      const { usedSize = 0, backingStorageSize = 0 } = await this.#ask('Runtime.getHeapUsage');
      this.#live.push(Math.round((usedSize + backingStorageSize) / 1024 ** 2));
      await delay(everyMs, undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  async #ask(method: string): Promise<Readonly<Record<string, number>>> {
    this.#requests += 1;
    const id = this.#requests;
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(longestAnswerMs)]);
    this.#socket.send(JSON.stringify({ id, method }));
    for (;;) {
      const [data] = await once(this.#socket, 'message', { signal });
      const answer = JSON.parse(String(data));
      if (answer.id === id) return answer.result;
    }
  }
}

function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
