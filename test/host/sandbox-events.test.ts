import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/seams/events.ts';
import { eventually } from '../contracts/harness.ts';
import { sandboxWorld } from '../sandboxes/world.ts';

describe('events of sandboxes', () => {
  it('report each change and process of a sandbox in order, with its user and without arguments', async () => {
    await using world = await sandboxWorld('native');
    const told: (readonly [string, EventBody])[] = [];
    const sandboxes = await world.host({ events: { emit: (user, event) => void told.push([user, event]) } });
    const types = () => told.map(([, { type }]) => type);
    const ann = sandboxes.of('ann');
    const sandbox = await ann.getOrCreate('demo');
    await sandbox.spawn({ argv: ['sh', '-c', 'echo secret-word; exit 3'] });
    await eventually(async () => types().includes('process-exit'), 'the end of the process', 60_000);
    await sandbox.exec({ argv: ['false'] });
    await ann.rename('demo', 'other');
    await ann.stop('other');
    await ann.getOrCreate('other');
    await ann.getOrCreate('other');
    await ann.remove('other');
    expect(types()).toEqual([
      'sandbox-start',
      'process-start',
      'process-exit',
      'process-exit',
      'sandbox-rename',
      'sandbox-stop',
      'sandbox-start',
      'sandbox-remove',
    ]);
    expect(new Set(told.map(([user]) => user))).toEqual(new Set(['ann']));
    const events = told.map(([, event]) => event);
    expect(events[0]).toEqual({ type: 'sandbox-start', made: true, sandbox: sandbox.id, chat: 'demo' });
    expect(events[1]).toMatchObject({ program: 'sh', sandbox: sandbox.id });
    expect(events[2]).toMatchObject({ exitCode: 3, signal: null, timedOut: false });
    expect(events[4]).toMatchObject({ from: 'demo', chat: 'other' });
    expect(events[5]).toMatchObject({ cause: 'asked' });
    expect(events[6]).toMatchObject({ made: false });
    expect(JSON.stringify(told)).not.toContain('secret-word');
  });

  it('sends an end event for a sandbox that dies', async () => {
    await using world = await sandboxWorld('native');
    const told: EventBody[] = [];
    const sandboxes = await world.host({ events: { emit: (_, event) => void told.push(event) } });
    const sandbox = await sandboxes.of('ann').getOrCreate('demo');
    await world.runtime.halt(sandbox.id);
    await eventually(async () => sandbox.end !== undefined, 'the end of the sandbox', 60_000);
    await sandboxes.all();
    expect(told.at(-1)).toMatchObject({ type: 'sandbox-stop', cause: 'ended', chat: 'demo' });
    await sandboxes.of('ann').remove('demo');
  });
});
