import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import type { Runtime } from '../seams/runtime.ts';
import type { Sandbox } from '../seams/sandbox.ts';
import { type AttachedOptions, AttachedSandbox } from './attached-sandbox.ts';
import type { SandboxRow } from './sandbox-table.ts';

/** The running sandboxes that this host holds. */
export class AttachedSandboxes {
  /** Ids whose state is unknown: sandboxes that ended by themselves or could not be reached. */
  readonly unsettled = new Set<string>();
  readonly #held = new Map<string, AttachedSandbox>();
  readonly #options: AttachedOptions;

  constructor(options: AttachedOptions) {
    this.#options = options;
  }

  /** Drops a sandbox that has ended. */
  get(id: string): AttachedSandbox | undefined {
    const held = this.#held.get(id);
    if (held?.sandbox.end === undefined) return held;
    this.drop(id);
    this.unsettled.add(id);
    if (held.endedByItself)
      this.#options.events.emit(held.user, {
        type: 'sandbox-stop',
        cause: 'ended',
        sandbox: id,
        chat: held.chat,
      });
    void held.sandbox.release();
    return undefined;
  }

  running(): readonly AttachedSandbox[] {
    return [...this.#held.values()].filter(({ sandbox }) => sandbox.end === undefined);
  }

  hold(
    { user, chat }: Pick<SandboxRow, 'user' | 'chat'>,
    sandbox: Sandbox,
    runtime: Runtime,
  ): AttachedSandbox {
    return new AttachedSandbox(sandbox, { user, chat }, runtime, this.#options);
  }

  put(held: AttachedSandbox): void {
    this.#held.set(held.sandbox.id, held);
    this.unsettled.delete(held.sandbox.id);
  }

  /** Saves the memory of one and ends it. A failure before the end leaves it running. */
  async hibernate(id: string, cancel: Cancel): Promise<void> {
    const held = this.get(id);
    if (held === undefined) throw new GeodeError('sandbox_stopped', 'Only a running sandbox can hibernate.');
    try {
      await held.hibernate(cancel);
      this.unsettled.delete(id);
    } catch (error) {
      if (held.sandbox.end !== undefined) this.unsettled.add(id);
      throw error;
    } finally {
      if (held.sandbox.end !== undefined) this.drop(id);
    }
  }

  drop(id: string): void {
    this.#held.delete(id);
  }

  /** Takes over everything running in it from an earlier host. A paused sandbox stays paused. */
  async take(
    entry: SandboxRow,
    sandbox: Sandbox,
    runtime: Runtime,
    cancel: Cancel,
  ): Promise<AttachedSandbox> {
    try {
      const held = this.hold(entry, sandbox, runtime);
      if (!held.paused) await held.resume(cancel);
      this.put(held);
      return held;
    } catch (error) {
      await sandbox.release();
      throw error;
    }
  }

  /** Time of the last activity in each; the current time during activity. */
  activity(now: number): ReadonlyMap<string, number> {
    return new Map(
      this.running().map(({ sandbox: { id }, activity: { open, endedAt } }) => [
        id,
        open > 0 ? now : endedAt,
      ]),
    );
  }

  /** Detaches all; they continue. */
  async release(): Promise<void> {
    await Promise.all([...this.#held.values()].map((held) => held.release()));
    this.#held.clear();
  }
}
