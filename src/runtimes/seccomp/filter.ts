/**
 * The list as a seccomp program for bubblewrap, which has no filter of its own. Refused calls fail with EPERM; hidden
 * and unknown calls with ENOSYS. Calls of another architecture, where the numbers mean other calls, kill the process;
 * x32 numbers are above all others, so they are unknown. The format is the kernel's: eight bytes per instruction.
 */
import { type ArgumentRule, allowedCalls, argumentRules, hiddenCalls } from './calls.ts';
import { type Architecture, callNumbers } from './numbers.ts';

/** Undefined for an architecture without a table of numbers. */
export function seccompFilter(arch: string): Buffer | undefined {
  if (!isArchitecture(arch)) return undefined;
  return Buffer.concat([
    load(offsets.arch),
    jumpIfEqual(auditNumbers[arch], 1, 0),
    answer(answers.kill),
    load(offsets.number),
    ...stretchesOf(verdictsOf(arch)).flatMap(({ last, verdict }) => {
      const body = bodyOf(verdict);
      return [jumpIfGreater(last, body.length, 0), ...body];
    }),
    answer(answers.ENOSYS),
  ]);
}

type Verdict = 'allow' | 'EPERM' | 'ENOSYS' | ArgumentRule;

/** The verdict of every number up to the last known one. */
function verdictsOf(arch: Architecture): readonly Verdict[] {
  const numbers = callNumbers(arch);
  const verdicts: Verdict[] = Array.from({ length: Math.max(...numbers.values()) + 1 }, () => 'ENOSYS');
  const rules = new Map(argumentRules.map((rule) => [rule.call, rule]));
  for (const [name, number] of numbers) {
    const plain = allowedCalls.includes(name) ? 'allow' : hiddenCalls.includes(name) ? 'ENOSYS' : 'EPERM';
    verdicts[number] = rules.get(name) ?? plain;
  }
  return verdicts;
}

/** Groups neighbouring call numbers with the same verdict: the filter compares once for each group. */
function stretchesOf(verdicts: readonly Verdict[]) {
  const stretches: { last: number; verdict: Verdict }[] = [];
  for (const [number, verdict] of verdicts.entries()) {
    const before = stretches.at(-1);
    if (before?.verdict === verdict) before.last = number;
    else stretches.push({ last: number, verdict });
  }
  return stretches;
}

function bodyOf(verdict: Verdict): readonly Buffer[] {
  if (typeof verdict === 'string') return [answer(answers[verdict])];
  const refuseOrAllow = [answer(answers.EPERM), answer(answers.allow)];
  if ('noneOfBits' in verdict)
    return [load(offsets.firstArgument), jumpIfAnyBit(verdict.noneOfBits, 0, 1), ...refuseOrAllow];
  const { oneOf } = verdict;
  const tests = oneOf.map((value, index) => jumpIfEqual(value, oneOf.length - index, 0));
  return [load(offsets.firstArgument), ...tests, ...refuseOrAllow];
}

/** Offsets in the kernel's description of a call. The lower half of an argument comes first on these architectures. */
const offsets = { number: 0, arch: 4, firstArgument: 16 };
const auditNumbers: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const answers = { allow: 0x7fff0000, kill: 0x80000000, EPERM: 0x00050001, ENOSYS: 0x00050026 };

function isArchitecture(arch: string): arch is Architecture {
  return arch in auditNumbers;
}

const load = (offset: number) => instruction(0x20, 0, 0, offset);
const jumpIfEqual = (value: number, ifTrue: number, ifFalse: number) =>
  instruction(0x15, ifTrue, ifFalse, value);
const jumpIfGreater = (value: number, ifTrue: number, ifFalse: number) =>
  instruction(0x25, ifTrue, ifFalse, value);
const jumpIfAnyBit = (mask: number, ifTrue: number, ifFalse: number) =>
  instruction(0x45, ifTrue, ifFalse, mask);
const answer = (value: number) => instruction(0x06, 0, 0, value);

function instruction(code: number, ifTrue: number, ifFalse: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(ifTrue, 2);
  bytes.writeUInt8(ifFalse, 3);
  bytes.writeUInt32LE(value, 4);
  return bytes;
}
