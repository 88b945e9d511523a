/**
 * The seccomp profile of a container that a host runs in: the calls of a sandbox, and those with which bubblewrap makes
 * one. Sandboxes inside get their own stricter filter.
 */
import { z } from 'zod';
import { seccompProfile } from '../src/runtimes/seccomp/profile.ts';

const forNamespaces = ['clone', 'mount', 'pivot_root', 'sethostname', 'umount2', 'unshare'];
const profileSchema = z.looseObject({
  syscalls: z.array(z.looseObject({ names: z.array(z.string()), action: z.string() })),
});

export function hostSeccomp(): string {
  const { syscalls, ...profile } = profileSchema.parse(JSON.parse(seccompProfile()));
  const others = syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => !forNamespaces.includes(name)) }))
    .filter(({ names }) => names.length > 0);
  const rules = [{ names: forNamespaces, action: 'SCMP_ACT_ALLOW' }, ...others];
  return `${JSON.stringify({ ...profile, syscalls: rules }, null, 2)}\n`;
}
