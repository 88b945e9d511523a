import { type ArgumentRule, allowedCalls, argumentRules, hiddenCalls } from './calls.ts';
import { callNumbers } from './numbers.ts';

const EPERM = 1;
const ENOSYS = 38;
/** The lower half of an argument: what the kernel reads of an `int`. */
const lowerHalf = 0xffffffff;

/**
 * The list as a profile in the form that Docker and Podman share. Only the engine's own architecture is named, so
 * that 32-bit and x32 calls, of which `socketcall` hides the family of a socket in memory, end the process. What no
 * rule names gets ENOSYS where the engine can say so, and EPERM from older ones.
 */
export function seccompProfile(): string {
  const archMap = Object.values(architectures).map((architecture) => ({
    architecture,
    subArchitectures: [],
  }));
  return JSON.stringify({ ...rules(), archMap });
}

/** The same in the form of an OCI bundle, for one architecture. Undefined for one that the tables do not know. */
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

/** The rest of the calls that the tables know. */
function refusedCalls(): readonly string[] {
  const known = new Set([...callNumbers('x64').keys(), ...callNumbers('arm64').keys()]);
  const others = [...allowedCalls, ...hiddenCalls, ...argumentRules.map(({ call }) => call)];
  return [...known].filter((name) => !others.includes(name));
}

/** Several rules for one call allow what any of them allows. */
function allowances(rule: ArgumentRule) {
  const [mask, values] =
    'noneOfBits' in rule ? ([rule.noneOfBits, [0]] as const) : ([lowerHalf, rule.oneOf] as const);
  return values.map((value) => ({
    names: [rule.call],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: 0, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }],
  }));
}
