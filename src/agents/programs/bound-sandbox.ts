import type { BindingSpec, EgressSpec } from '../../core/egress.ts';
import { isGeodeError } from '../../core/errors.ts';
import type { PersistentSandbox, UserSandboxes } from '../../core/persistent.ts';
import type { Mount } from '../../core/sandbox.ts';

interface Needs {
  /** Where its model is. */
  readonly binding: BindingSpec;
  /** Of the agent's program and what belongs to it; only a new sandbox can have them. */
  readonly mounts: readonly Mount[];
  readonly signal: AbortSignal | undefined;
}

/** The sandbox of a chat, with the model of an agent's program within its reach. What it may reach besides stays. */
export async function openBound(
  sandboxes: UserSandboxes,
  chat: string,
  { binding, mounts, signal }: Needs,
): Promise<PersistentSandbox> {
  const withBinding = (before: EgressSpec | undefined): EgressSpec => ({
    policy: before?.policy ?? { mode: 'allow-list', allow: [], deny: [] },
    bindings: [...(before?.bindings ?? []).filter(({ name }) => name !== binding.name), binding],
  });
  try {
    const sandbox = await sandboxes.start(chat, { signal });
    const before = await sandboxes.egress(chat);
    if (!before?.bindings.some(({ name }) => name === binding.name))
      await sandboxes.changeEgress(chat, withBinding, { signal });
    return sandbox;
  } catch (error) {
    if (!isGeodeError(error, 'sandbox_not_found')) throw error;
    return await sandboxes.getOrCreate(chat, { mounts, egress: withBinding(undefined) }, { signal });
  }
}
