import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type IdleFacts, verdictOn } from '../../src/sandboxes/idle.ts';

const now = 10_000_000;
const idle: IdleFacts = { state: 'running', open: 0, activeAt: 0, keptUntil: 0, thinkingUntil: 0 };
const policy = { idleMs: 1000, removeMs: 5000 };

describe('SBX-5: the verdict of the sweep', () => {
  it.each<[string, Partial<IdleFacts>, string]>([
    ['idle for long enough', { activeAt: now - 1000 }, 'stop'],
    ['not quite', { activeAt: now - 999 }, 'keep'],
    ['something goes on, however old', { open: 1 }, 'keep'],
    ['leased', { keptUntil: now + 1 }, 'keep'],
    ['the lease ended a moment ago', { keptUntil: now - 999 }, 'keep'],
    ['the lease ended', { keptUntil: now - 1000 }, 'stop'],
    ['a caller thinks', { thinkingUntil: now + 1 }, 'keep'],
    ['a caller thought', { thinkingUntil: now - 1000 }, 'stop'],
    ['the clock was set back', { activeAt: now + 1_000_000 }, 'keep'],
    ['stopped, not yet old', { state: 'stopped', activeAt: now - 4999 }, 'keep'],
    ['stopped and old', { state: 'stopped', activeAt: now - 5000 }, 'remove'],
    ['stopped, old and leased', { state: 'stopped', keptUntil: now + 1 }, 'keep'],
  ])('%s', (_title, standing, verdict) => {
    expect(verdictOn({ ...idle, ...standing }, policy, now)).toBe(verdict);
  });

  it('null keeps a sandbox forever', () => {
    const never = { idleMs: null, removeMs: null };
    expect(verdictOn(idle, never, now)).toBe('keep');
    expect(verdictOn({ ...idle, state: 'stopped' }, never, now)).toBe('keep');
  });

  it('never removes a running sandbox or stops a working one; more activity never leads to a harsher verdict', () => {
    const time = fc.integer({ min: 0, max: 2 * now });
    const standing = fc.record({
      state: fc.constantFrom('running' as const, 'stopped' as const),
      open: fc.nat(2),
      activeAt: time,
      keptUntil: time,
      thinkingUntil: time,
    });
    const policies = fc.record({ idleMs: fc.option(fc.nat(now)), removeMs: fc.option(fc.nat(now)) });
    fc.assert(
      fc.property(standing, policies, time, fc.nat(now), (before, rules, at, later) => {
        const verdict = verdictOn(before, rules, at);
        if (before.open > 0) expect(verdict).toBe('keep');
        expect(verdict).not.toBe(before.state === 'running' ? 'remove' : 'stop');
        const after = { ...before, activeAt: before.activeAt + later };
        if (verdict === 'keep') expect(verdictOn(after, rules, at)).toBe('keep');
      }),
    );
  });
});
