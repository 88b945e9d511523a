import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import { type Egress, type EgressSpec, hatchSpecOf } from '../seams/egress.ts';
import type { PersistentSpec } from '../seams/persistent.ts';
import type { AttachedSandbox } from './attached-sandbox.ts';
import type { SandboxRow } from './sandbox-table.ts';

/**
 * The hatches of the sandboxes that this host holds. Each has the policy that egress remembers for its sandbox, or
 * refuses everything.
 */
export class SandboxHatches {
  readonly #egress: Egress;

  constructor(egress: Egress) {
    this.#egress = egress;
  }

  /** Opens its hatch if it is not open yet. */
  async openFor(
    { id, user, chat, spec: { network } }: Pick<SandboxRow, 'id' | 'user' | 'chat' | 'spec'>,
    held: AttachedSandbox,
    cancel: Cancel,
  ): Promise<void> {
    if (held.hatch !== undefined) return;
    const spec = hatchSpecOf(this.#egress.remembered(id), held.sandbox, network);
    if (spec === undefined) return;
    held.hatch = await this.#egress.open(held.sandbox, { sandboxId: id, user, chat }, spec, cancel);
  }

  /** In the chat's turn: sets the network policy of a sandbox. A failure leaves the policy as it was. */
  async change(
    entry: SandboxRow,
    held: AttachedSandbox | undefined,
    spec: EgressSpec,
    cancel: Cancel,
  ): Promise<void> {
    checkNetwork(entry.spec, spec);
    if (held?.hatch !== undefined) await held.hatch.change(spec, cancel);
    const before = this.#egress.remembered(entry.id);
    this.#egress.remember(entry.id, spec);
    if (held === undefined || held.paused) return;
    try {
      await this.openFor(entry, held, cancel);
    } catch (error) {
      this.#egress.remember(entry.id, before);
      throw error;
    }
  }

  /** A leftover row on a full disk is harmless: the id is never used again. */
  forget(id: string): void {
    try {
      if (this.#egress.remembered(id) !== undefined) this.#egress.remember(id, undefined);
    } catch (error) {
      if (!isGeodeError(error, 'disk_full')) throw error;
    }
  }
}

/** A sandbox with its own network bypasses every policy. */
export function checkNetwork({ network = 'none' }: PersistentSpec, egress: EgressSpec | undefined): void {
  if (network === 'none' || egress === undefined) return;
  throw new GeodeError(
    'cannot_enforce',
    `A sandbox with the network "${network}" cannot have a network policy.`,
    {
      hint: 'Leave the network out and allow hosts in the policy.',
    },
  );
}
