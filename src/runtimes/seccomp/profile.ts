import { type ArgumentRule, allowedCalls, argumentRules, hiddenCalls } from './calls.ts';
import { callNumbers } from './numbers.ts';

const EPERM = 1;
const ENOSYS = 38;
/** The lower half of an argument, which is what the kernel reads of an `int`. */
const lowerHalf = 0xffffffff;

/**
 * The list as a profile in the format that Docker and Podman share. It names only the engine's own architecture, so
 * 32-bit and x32 calls kill the process (`socketcall` hides the address family in memory). Other calls get ENOSYS if
 * the engine supports that, and EPERM on older ones.
 */
export function seccompProfile(): string {
  const archMap = Object.values(architectures).map((architecture) => ({
    architecture,
    subArchitectures: [],
  }));
  return JSON.stringify({ ...rules(), archMap });
}

/** The same for an OCI bundle and one architecture. Undefined for an unknown architecture. */
export function seccompRules(arch: string) {
  const architecture = architectures[arch];
  return architecture === undefined ? undefined : { ...rules(), architectures: [architecture] };
}

const architectures: Readonly<Record<string, string>> = {
  x64: 'SCMP_ARCH_X86_64',
  arm64: 'SCMP_ARCH_AARCH64',
};

function rules() {
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: ENOSYS,
    syscalls: [
      { names: allowedCalls, action: 'SCMP_ACT_ALLOW' },
      ...argumentRules.flatMap(allowances),
      { names: refusedCalls(), action: 'SCMP_ACT_ERRNO', errnoRet: EPERM },
      { names: hiddenCalls, action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  };
}

/** All other calls in the table. */
function refusedCalls(): readonly string[] {
  const known = new Set([...callNumbers('x64').keys(), ...callNumbers('arm64').keys()]);
  const others = [...allowedCalls, ...hiddenCalls, ...argumentRules.map(({ call }) => call)];
  return [...known].filter((name) => !others.includes(name));
}

/** Several rules for one call allow everything that any of them allows. */
function allowances(rule: ArgumentRule) {
  const [mask, values] =
    'noneOfBits' in rule ? ([rule.noneOfBits, [0]] as const) : ([lowerHalf, rule.oneOf] as const);
  return values.map((value) => ({
    names: [rule.call],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: 0, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }],
  }));
}
