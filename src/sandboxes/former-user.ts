import type { Cancel } from '../base/cancel.ts';
import { reasonOf } from '../base/errors.ts';
import { localUser } from '../base/identity.ts';
import { ownerText } from './owner.ts';
import type { Sides } from './reconcile.ts';
import type { SandboxRow } from './sandbox-table.ts';

/**
 * Earlier versions gave sandboxes of the command line to the caller's login name; now they belong to the local user.
 * They are moved once for each login: first the sandbox's own record, then the ledger, so if a host dies in between
 * the next one continues. A sandbox stays if the local user already has one with that chat.
 */
export class FormerUser {
  readonly #sides: Sides;
  readonly #login: string;
  readonly #reported = new Set<string>();

  constructor(sides: Sides, login: string) {
    this.#sides = sides;
    this.#login = login;
  }

  /** True when all are moved. */
  async move(cancel: Cancel): Promise<boolean> {
    const { registry } = this.#sides;
    if (this.#login === localUser || registry.table.hasMoved(this.#login)) return true;
    let done = true;
    for (const { id, chat } of registry.table.ofUser(this.#login)) {
      await registry.inTurn(this.#login, chat, cancel, async () => {
        const entry = registry.table.find(this.#login, chat);
        if (entry?.id === id && !entry.removing) done = (await this.#give(entry)) && done;
      });
    }
    return done;
  }

  /** From then on the login is a normal user. */
  async moveRest(cancel: Cancel): Promise<void> {
    if (await this.move(cancel)) this.#sides.registry.table.noteMoved(this.#login);
  }

  async #give(entry: SandboxRow): Promise<boolean> {
    const { registry, warn } = this.#sides;
    const { id, chat } = entry;
    const name = `${this.#login}/${chat}`;
    if (registry.table.find(localUser, chat) !== undefined) {
      if (this.#reported.has(id)) return true;
      this.#reported.add(id);
      warn(`The sandbox ${name} keeps its user: ${localUser}/${chat} exists. Use it as ${name}.`);
      return true;
    }
    try {
      const spec = { ...entry.spec, labels: entry.labels };
      await registry.runtimeOf(entry).assign(id, ownerText({ user: localUser, chat, spec }));
      registry.table.give(id, localUser);
      return true;
    } catch (error) {
      warn(`The sandbox ${name} could not be given to ${localUser} yet: ${reasonOf(error)}`);
      return false;
    }
  }
}
