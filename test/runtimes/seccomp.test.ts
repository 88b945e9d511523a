import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { allowedCalls, argumentRules, hiddenCalls } from '../../src/runtimes/seccomp/calls.ts';
import { seccompFilter } from '../../src/runtimes/seccomp/filter.ts';
import { callNumbers } from '../../src/runtimes/seccomp/numbers.ts';
import { seccompProfile } from '../../src/runtimes/seccomp/profile.ts';

const audit = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003 };
const answers = new Map([
  [0x7fff0000, 'allow'],
  [0x80000000, 'kill'],
  [0x00050001, 'EPERM'],
  [0x00050026, 'ENOSYS'],
]);

/** Runs the program as the kernel would, with the few instructions that it is made of. */
function ask(filter: Buffer, call: { number: number; arch: number; argument?: number }): string | undefined {
  const facts: Readonly<Record<number, number>> = { 0: call.number, 4: call.arch, 16: call.argument ?? 0 };
  let value = 0;
  for (let place = 0; place < filter.length; place += 8) {
    const operand = filter.readUInt32LE(place + 4);
    const jump = (holds: boolean) => {
      place += 8 * filter.readUInt8(place + (holds ? 2 : 3));
    };
    const code = filter.readUInt16LE(place);
    if (code === 0x20) value = facts[operand] ?? Number.NaN;
    else if (code === 0x15) jump(value === operand);
    else if (code === 0x25) jump(value > operand);
    else if (code === 0x45) jump((BigInt(value) & BigInt(operand)) !== 0n);
    else if (code === 0x06) return answers.get(operand);
    else throw new Error(`an instruction that the filter has no use for: ${code}`);
  }
  throw new Error('the filter ends without an answer');
}

describe.each(['x64', 'arm64'] as const)('RT-6: the filter for bubblewrap on %s', (arch) => {
  const filter = seccompFilter(arch);
  if (filter === undefined) throw new Error(`there is no filter for ${arch}`);
  const numbers = callNumbers(arch);
  const answer = (name: string, argument = 0) =>
    ask(filter, { number: numbers.get(name) ?? Number.NaN, arch: audit[arch], argument });

  it('allows and refuses the same calls as the list', () => {
    const rules = new Set(argumentRules.map(({ call }) => call));
    for (const name of numbers.keys()) {
      if (rules.has(name)) continue;
      const expected = allowedCalls.includes(name)
        ? 'allow'
        : hiddenCalls.includes(name)
          ? 'ENOSYS'
          : 'EPERM';
      expect([name, answer(name)]).toEqual([name, expected]);
    }
  });

  it('checks the arguments of calls that are dangerous with some arguments', () => {
    for (const call of ['socket', 'socketpair']) {
      for (const family of [1, 2, 10, 16]) expect(answer(call, family)).toBe('allow');
      for (const family of [0, 17, 38, 40, 44]) expect(answer(call, family)).toBe('EPERM');
    }
    expect(answer('clone', 0x3d0f00)).toBe('allow');
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(answer('clone', flag | 17)).toBe('EPERM');
    }
    for (const persona of [0, 0xffffffff]) expect(answer('personality', persona)).toBe('allow');
    for (const persona of [8, 0x40000, 0x400000]) expect(answer('personality', persona)).toBe('EPERM');
  });

  it('refuses system call numbers beyond its tables, including x32', () => {
    const last = Math.max(...numbers.values());
    for (const number of [last + 1, 1000, 0x40000000, 0x40000029, 0xffffffff]) {
      expect(ask(filter, { number, arch: audit[arch] })).toBe('ENOSYS');
    }
  });

  it('kills a process that makes calls of another architecture', () => {
    for (const other of Object.values(audit).filter((number) => number !== audit[arch])) {
      expect(ask(filter, { number: 0, arch: other })).toBe('kill');
    }
  });

  it('is within the length limit of the kernel', () => {
    expect(filter.length / 8).toBeLessThan(4096);
  });
});

describe('RT-6: the list of calls', () => {
  const known = new Set([...callNumbers('x64').keys(), ...callNumbers('arm64').keys()]);

  it('names only existing system calls, each once', () => {
    const named = [...allowedCalls, ...hiddenCalls, ...argumentRules.map(({ call }) => call)];
    expect(named.filter((name) => !known.has(name))).toEqual([]);
    expect(named.length).toBe(new Set(named).size);
  });

  it('gives engines the same verdicts', () => {
    const schema = z.object({
      syscalls: z.array(
        z.object({ names: z.array(z.string()), action: z.string(), errnoRet: z.number().optional() }),
      ),
    });
    const { syscalls } = schema.parse(JSON.parse(seccompProfile()));
    const named = (action: string, errnoRet?: number) =>
      new Set(
        syscalls
          .filter((rule) => rule.action === action && rule.errnoRet === errnoRet)
          .flatMap(({ names }) => names),
      );
    expect(named('SCMP_ACT_ALLOW')).toEqual(
      new Set([...allowedCalls, ...argumentRules.map(({ call }) => call)]),
    );
    expect(named('SCMP_ACT_ERRNO', 38)).toEqual(new Set(hiddenCalls));
    const refused = named('SCMP_ACT_ERRNO', 1);
    for (const name of ['bpf', 'io_uring_setup', 'keyctl', 'unshare', 'userfaultfd', 'mount', 'modify_ldt']) {
      expect(refused).toContain(name);
    }
    expect(refused.size + allowedCalls.length + argumentRules.length + hiddenCalls.length).toBe(known.size);
  });

  it('is undefined for a machine with unknown system call numbers', () => {
    expect(seccompFilter('riscv64')).toBeUndefined();
  });
});
