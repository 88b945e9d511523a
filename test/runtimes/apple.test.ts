import { describe, expect, inject, it } from 'vitest';
import { appleRuntime } from '../../src/runtimes/apple/apple.ts';
import { wholeCpus } from '../../src/runtimes/apple/arguments.ts';
import { testOptions } from '../contracts/harness.ts';
import { runtimeContract } from '../contracts/runtime.ts';
import { appleWorld, openAppleStandIn } from './apple-stand-in.ts';

const { docker } = inject('engines');

// RT-11: Apple's own program runs on a Mac only; here its grammar is held to by a stand-in that parses strictly.
runtimeContract({
  name: "RT-11 apple, against a strict stand-in for Apple's program",
  unavailable: docker.available ? undefined : docker.reason,
  open: () => openAppleStandIn(docker.available ? docker.socket : ''),
});

describe('apple', () => {
  it('RT-11: the probe is unavailable on another system, with the reason', async () => {
    await using options = await testOptions();
    const found = await appleRuntime(options, options.apple).probe();
    expect(found).toMatchObject({ available: false, reason: expect.stringContaining('macOS') });
  });

  it('RT-11: the probe names the program to install', async () => {
    await using options = await testOptions({
      ...appleWorld,
      appleProgram: async () => '/nowhere/container',
    });
    expect(await appleRuntime(options, options.apple).probe()).toMatchObject({
      available: false,
      reason: expect.stringContaining('not installed'),
    });
  });

  it('RT-7 RT-11: half a CPU is refused, a virtual machine has whole ones', () => {
    expect(() => wholeCpus(0.5)).toThrow(expect.objectContaining({ code: 'cannot_enforce' }));
    expect(wholeCpus(2)).toBe(2);
  });
});
