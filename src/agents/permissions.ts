import type { PermissionAnswer } from '../core/agent.ts';
import { GeodeError } from '../core/errors.ts';

/** Permission requests that wait for a person. One that nobody answers in time is denied. */
export class Permissions {
  readonly #open = new Map<string, (answer: PermissionAnswer) => void>();
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Denied as well when the signal fires: the turn ends. */
  wait(conversation: number, id: string, signal: AbortSignal): Promise<PermissionAnswer> {
    const key = keyOf(conversation, id);
    return new Promise((resolve) => {
      const deny = () => settle('deny');
      const settle = (answer: PermissionAnswer) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', deny);
        this.#open.delete(key);
        resolve(answer);
      };
      const timer = setTimeout(deny, this.#timeoutMs);
      signal.addEventListener('abort', deny, { once: true });
      this.#open.set(key, settle);
      if (signal.aborted) deny();
    });
  }

  answer(conversation: number, id: string, answer: PermissionAnswer): void {
    const settle = this.#open.get(keyOf(conversation, id));
    if (settle === undefined)
      throw new GeodeError('permission_not_found', `No request ${JSON.stringify(id)} waits for an answer.`);
    settle(answer);
  }
}

function keyOf(conversation: number, id: string): string {
  return `${conversation}/${id}`;
}
