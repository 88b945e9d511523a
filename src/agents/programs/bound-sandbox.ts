import { isGeodeError } from '../../base/errors.ts';
import { type BindingSpec, type EgressSpec, reachesNothing } from '../../seams/egress.ts';
import type { Limits } from '../../seams/limits.ts';
import type { PersistentSandbox, PersistentSpec, UserSandboxes } from '../../seams/persistent.ts';
import type { Mount } from '../../seams/sandbox.ts';

interface Needs {
  /** Where its model is. */
  readonly binding: BindingSpec;
  /** Mounts for the agent's program and its files; only a new sandbox can get them. */
  readonly mounts?: readonly Mount[];
  /** Limits of a new sandbox, if its runtime can enforce them. */
  readonly limits?: Limits | undefined;
  /** Further settings of a new sandbox. */
  readonly spec?: PersistentSpec;
  readonly signal: AbortSignal | undefined;
}

/** The sandbox of a chat, with access to the model of an agent's program. Other network permissions stay. */
export async function openBound(
  sandboxes: UserSandboxes,
  chat: string,
  { binding, mounts, limits, spec = {}, signal }: Needs,
): Promise<PersistentSandbox> {
  const withBinding = ({ policy, bindings }: EgressSpec): EgressSpec => ({
    policy,
    bindings: [...bindings.filter(({ name }) => name !== binding.name), binding],
  });
  try {
    const sandbox = await sandboxes.start(chat, { signal });
    const before = await sandboxes.egress(chat);
    const isBound = before?.bindings.some(
      ({ name, upstream }) =>
        name === binding.name && (binding.upstream === undefined || upstream === binding.upstream),
    );
    if (!isBound) await sandboxes.changeEgress(chat, withBinding, { signal });
    return sandbox;
  } catch (error) {
    if (!isGeodeError(error, 'sandbox_not_found')) throw error;
    const made = { ...spec, ...(mounts && { mounts }), egress: withBinding(reachesNothing) };
    if (limits === undefined) return await sandboxes.getOrCreate(chat, made, { signal });
    try {
      return await sandboxes.getOrCreate(chat, { ...made, limits }, { signal });
    } catch (unheld) {
      // These limits are a default: a runtime that cannot enforce them skips them.
      if (!isGeodeError(unheld, 'cannot_enforce')) throw unheld;
      return await sandboxes.getOrCreate(chat, made, { signal });
    }
  }
}
