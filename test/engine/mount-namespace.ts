/**
 * Wraps a command so that it has its own view of the mounts, in which there is no `/sys/fs/cgroup/unified`.
 *
 * Where cgroup v1 and v2 are both mounted and a controller is left to v2, crun refuses to start anything. Without
 * that mount it sees plain v1. Mounts made on the machine later still appear inside; those made inside stay
 * inside and vanish with the last process there.
 */
export function inOwnMountNamespace(program: string, args: readonly string[]): [string, string[]] {
  const script = 'umount /sys/fs/cgroup/unified 2>/dev/null || true; exec "$@"';
  return ['unshare', ['--mount', '--propagation', 'slave', 'sh', '-c', script, 'sh', program, ...args]];
}
