import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bus, Claim, ClaimOptions, MessageKind, NewMessage } from '../../src/seams/bus.ts';
import { generator } from '../fixtures/random.ts';

export interface BusScene extends AsyncDisposable {
  readonly bus: Bus;
  /** Opens the same store as another worker. */
  other(): Promise<Bus>;
}

/** Tests for every bus, with any store. `now` is the clock of its leases. */
export function busContract(name: string, open: (now: () => number) => Promise<BusScene>): void {
  describe(`bus on ${name}`, () => {
    let scene: BusScene;
    let bus: Bus;
    let clock = 0;
    beforeEach(async () => {
      clock = 1_000_000;
      scene = await open(() => clock);
      bus = scene.bus;
    });
    afterEach(() => scene[Symbol.asyncDispose]());

    const put = (lane: string, key: string, more: Partial<NewMessage> = {}) =>
      bus.put({ lane, user: lane, key, kind: 'interactive', body: JSON.stringify(key), ...more });
    const every: ClaimOptions = { kinds: ['control', 'interactive', 'scheduled'], leaseMs: 1_000 };
    const claim = (more: Partial<ClaimOptions> = {}) => bus.claim({ ...every, ...more });
    const claimed = async (more: Partial<ClaimOptions> = {}): Promise<Claim> => {
      const found = await claim(more);
      if (found === undefined) throw new Error('nothing to claim');
      return found;
    };
    const keyOf = (found: Claim | undefined) => found?.message.key;
    const done = (found: Claim) => bus.finish(found, { state: 'done' });
    const reply = (lane: string, key: string) => ({ channel: 'web', lane, key, body: '{}' });

    it('GW-1: stores a message once when its channel delivers it several times', async () => {
      const first = await put('a', 'm1');
      expect(first.isNew).toBe(true);
      expect(await put('a', 'm1')).toEqual({ id: first.id, isNew: false });
      await done(await claimed());
      expect(await put('a', 'm1')).toEqual({ id: first.id, isNew: false });
      expect(await claim()).toBeUndefined();
    });

    it('GW-2: works on one message of a lane at a time, in order, and on several lanes at once', async () => {
      for (const key of ['a1', 'a2']) await put('a', key);
      await put('b', 'b1');
      const first = await claimed();
      expect(keyOf(first)).toBe('a1');
      expect(keyOf(await claim())).toBe('b1');
      expect(await claim()).toBeUndefined();
      await done(first);
      expect(keyOf(await claim())).toBe('a2');
    });

    it('keeps the order of a lane after a failure: the head waits for its next try, and the rest behind it', async () => {
      for (const key of ['a1', 'a2']) await put('a', key);
      await bus.retry(await claimed(), { due: clock + 500, reason: 'the model was busy' });
      expect(await claim()).toBeUndefined();
      clock += 500;
      const again = await claimed();
      expect(again.message).toMatchObject({ key: 'a1', tries: 2, reason: 'the model was busy' });
      await done(again);
      expect(keyOf(await claim())).toBe('a2');
    });

    it('GW-1: returns a message to the queue when its lease ends, and refuses the late worker', async () => {
      await put('a', 'a1');
      const late = await claimed();
      expect(await claim()).toBeUndefined();
      clock += 1_000;
      const other = await scene.other();
      const next = await other.claim(every);
      expect(next?.message).toMatchObject({ key: 'a1', tries: 2 });
      expect(next?.epoch).toBeGreaterThan(late.epoch);
      const ending = { state: 'done', replies: [reply('a', 'late')] } as const;
      await expect(bus.finish(late, ending)).rejects.toMatchObject({ code: 'lease_lost' });
      await expect(bus.renew(late, 1_000)).rejects.toMatchObject({ code: 'lease_lost' });
      await expect(bus.retry(late, { due: clock, reason: '' })).rejects.toMatchObject({ code: 'lease_lost' });
      // The reply of the late worker was not stored either.
      expect(await bus.claimReply('web', 1_000)).toBeUndefined();
      if (next !== undefined) await other.finish(next, { state: 'done', replies: [reply('a', 'right')] });
      expect((await bus.claimReply('web', 1_000))?.reply.key).toBe('right');
    });

    it('keeps a message claimed while its lease is renewed', async () => {
      await put('a', 'a1');
      const held = await claimed();
      for (let step = 0; step < 5; step += 1) {
        clock += 900;
        await bus.renew(held, 1_000);
        expect(await claim()).toBeUndefined();
      }
      await done(held);
    });

    it('GW-2: gives users turns: many messages of one user do not delay another user', async () => {
      for (let chat = 0; chat < 5; chat += 1)
        for (let step = 0; step < 3; step += 1)
          await put(`loud-${chat}`, `l${chat}-${step}`, { user: 'loud' });
      await put('quiet', 'q1');
      const first = await claimed();
      expect(first.message.user).toBe('loud');
      expect(keyOf(await claim())).toBe('q1');
      // With one place left and nothing of the quiet one at work, the longest unserved user comes first.
      await put('third', 't1');
      expect(keyOf(await claim())).toBe('t1');
    });

    it('GW-2: claims at most the given number of messages of one user at once, and control messages in addition', async () => {
      for (const lane of ['a', 'b', 'c']) await put(lane, lane, { user: 'ann' });
      await put('control:a', 'stop', { user: 'ann', kind: 'control' });
      expect(keyOf(await claim({ mostPerUser: 2 }))).toBe('stop');
      expect(keyOf(await claim({ mostPerUser: 2 }))).toBe('a');
      expect(keyOf(await claim({ mostPerUser: 2 }))).toBe('b');
      expect(await claim({ mostPerUser: 2 })).toBeUndefined();
    });

    it('GW-2: claims interactive messages before scheduled ones, and only the requested kinds', async () => {
      await put('a', 'later', { kind: 'scheduled' });
      await put('b', 'now');
      expect(keyOf(await claim({ kinds: ['control'] }))).toBeUndefined();
      expect(keyOf(await claim())).toBe('now');
      expect(keyOf(await claim())).toBe('later');
    });

    it('claims only from the requested lanes', async () => {
      await put('telegram:1', 't1');
      await put('web:1', 'w1');
      expect(keyOf(await claim({ lanes: ['web:', 'control:web:'] }))).toBe('w1');
      expect(await claim({ lanes: ['web:', 'control:web:'] })).toBeUndefined();
      expect(keyOf(await claim())).toBe('t1');
    });

    it('a delayed message joins its lane when it is due, behind the waiting ones, and delays nothing before', async () => {
      await put('a', 'later', { kind: 'scheduled', due: clock + 100 });
      await put('a', 'a1');
      const first = await claimed();
      expect(keyOf(first)).toBe('a1');
      await put('a', 'a2');
      await done(first);
      const second = await claimed();
      expect(keyOf(second)).toBe('a2');
      await done(second);
      expect(await claim()).toBeUndefined();
      clock += 100;
      expect(keyOf(await claim())).toBe('later');
    });

    it('GW-2: counts the messages before a message, in its lane and in all lanes', async () => {
      await put('b', 'b1');
      await put('a', 'a1');
      await put('a', 'a2');
      const { id } = await put('a', 'a3');
      expect(await bus.place(id)).toEqual({ lane: 2, all: 3 });
      await done(await claimed());
      await done(await claimed());
      expect(await bus.place(id)).toEqual({ lane: 1, all: 1 });
      await done(await claimed());
      await done(await claimed());
      expect(await bus.place(id)).toBeUndefined();
    });

    it('lists the waiting messages of a lane, in order', async () => {
      for (const key of ['a1', 'a2', 'a3']) await put('a', key);
      await put('b', 'b1');
      await put('a', 'later', { due: clock + 500 });
      await claimed();
      expect((await bus.waiting('a', 9)).map(({ key }) => key)).toEqual(['a2', 'a3']);
      expect((await bus.waiting('a', 1)).map(({ key }) => key)).toEqual(['a2']);
    });

    it('drops only the waiting messages of a lane', async () => {
      for (const key of ['a1', 'a2', 'a3']) await put('a', key);
      await put('b', 'b1');
      const held = await claimed();
      expect(await bus.drop('a')).toBe(2);
      await done(held);
      expect(keyOf(await claim())).toBe('b1');
      expect((await bus.history('a', { after: 0, limit: 9 })).map(({ state }) => state)).toEqual([
        'done',
        'stopped',
        'stopped',
      ]);
    });

    it('finishes a message and stores its replies and its record in one step', async () => {
      await put('a', 'a1');
      await bus.finish(await claimed(), {
        state: 'done',
        record: '{"text":"hello"}',
        replies: [reply('a', 'r1'), reply('a', 'r2')],
      });
      const [message] = await bus.history('a', { after: 0, limit: 9 });
      expect(message).toMatchObject({ key: 'a1', state: 'done', record: '{"text":"hello"}' });
      const entries = await bus.read('a', { after: 0, limit: 9 });
      expect(entries.map((entry) => (entry.type === 'reply' ? entry.reply.key : entry.message.key))).toEqual([
        'a1',
        'r1',
        'r2',
      ]);
      const last = entries.at(1)?.seq ?? 0;
      expect(await bus.read('a', { after: last, limit: 9 })).toHaveLength(1);
      expect(await bus.read('b', { after: 0, limit: 9 })).toEqual([]);
    });

    it('sends replies of a lane in order, one at a time; a delayed reply blocks the replies behind it', async () => {
      for (const key of ['r1', 'r2']) expect(await bus.storeReply(reply('a', key))).toBe(true);
      expect(await bus.storeReply(reply('a', 'r1'))).toBe(false);
      await bus.storeReply(reply('b', 's1'));
      const first = await bus.claimReply('web', 1_000);
      expect(first?.reply.key).toBe('r1');
      expect((await bus.claimReply('web', 1_000))?.reply.key).toBe('s1');
      expect(await bus.claimReply('web', 1_000)).toBeUndefined();
      expect(await bus.claimReply('telegram', 1_000)).toBeUndefined();
      if (first) await bus.delivered(first, { state: 'waiting', due: clock + 300, reason: 'slow down' });
      expect(await bus.claimReply('web', 1_000)).toBeUndefined();
      clock += 300;
      const again = await bus.claimReply('web', 1_000);
      expect(again?.reply).toMatchObject({ key: 'r1', tries: 2, reason: 'slow down' });
      if (again) await bus.delivered(again, { state: 'sent', platformId: '42' });
      expect((await bus.claimReply('web', 1_000))?.reply.key).toBe('r2');
    });

    it('GW-1: marks a reply with interrupted sending as unknown, and sends it again only on request', async () => {
      await bus.storeReply(reply('a', 'r1'));
      await bus.storeReply(reply('a', 'r2'));
      const cutOff = await bus.claimReply('web', 1_000);
      clock += 1_000;
      expect((await bus.claimReply('web', 1_000))?.reply.key).toBe('r2');
      expect((await bus.counts()).unknown).toBe(1);
      if (cutOff) {
        const late = bus.delivered(cutOff, { state: 'sent', platformId: null });
        await expect(late).rejects.toMatchObject({ code: 'lease_lost' });
        expect(await bus.resend(cutOff.reply.id)).toBe(true);
        expect(await bus.resend(cutOff.reply.id)).toBe(false);
      }
      expect((await bus.counts()).unknown).toBe(0);
    });

    it('GW-1: no reply overtakes a slow earlier reply', async () => {
      await bus.storeReply(reply('a', 'r1'));
      await bus.storeReply(reply('a', 'r2'));
      const slow = await bus.claimReply('web', 1_000);
      clock += 900;
      if (slow) await bus.renewReply(slow, 1_000);
      clock += 900;
      expect(await bus.claimReply('web', 1_000)).toBeUndefined();
      expect(await bus.isUnsent('web', 'a')).toBe(true);
      if (slow) await bus.delivered(slow, { state: 'sent', platformId: '1' });
      const next = await bus.claimReply('web', 1_000);
      if (next) await bus.delivered(next, { state: 'sent', platformId: '2' });
      expect(await bus.isUnsent('web', 'a')).toBe(false);
      if (slow) await expect(bus.renewReply(slow, 1_000)).rejects.toMatchObject({ code: 'lease_lost' });
    });

    it('GW-1: the next worker of a message knows the draft of its reply, and no other worker can store one', async () => {
      await put('a', 'a1');
      const first = await claimed();
      await bus.keepDraft(first, '42');
      clock += 1_000;
      const second = await claimed();
      expect(second.message.draft).toBe('42');
      await expect(bus.keepDraft(first, '43')).rejects.toMatchObject({ code: 'lease_lost' });
    });

    it('GW-2: waiting does not count as a try of a message', async () => {
      await put('a', 'a1');
      for (let time = 0; time < 3; time += 1) {
        const found = await claimed();
        expect(found.message.tries).toBe(1);
        await bus.retry(found, { due: clock, reason: 'somebody else talks there', isNoTry: true });
      }
      await bus.retry(await claimed(), { due: clock, reason: 'it failed' });
      expect((await claimed()).message).toMatchObject({ tries: 2, reason: 'it failed' });
    });

    it('GW-1: sends an interrupted repeatable reply again, in its order', async () => {
      await bus.storeReply({ ...reply('a', 'r1'), isRepeatable: true });
      await bus.storeReply(reply('a', 'r2'));
      await bus.claimReply('web', 1_000);
      clock += 1_000;
      const again = await bus.claimReply('web', 60_000);
      expect(again?.reply).toMatchObject({ key: 'r1', tries: 2, isRepeatable: true });
      expect(await bus.recover()).toMatchObject({ replies: 1 });
      expect((await bus.claimReply('web', 1_000))?.reply).toMatchObject({ key: 'r1', tries: 3 });
      expect((await bus.counts()).unknown).toBe(0);
    });

    it('recovers the claims of a dead worker at once', async () => {
      await put('a', 'a1');
      await bus.storeReply(reply('a', 'r1'));
      await claimed();
      await bus.claimReply('web', 60_000);
      expect(await bus.recover()).toEqual({ messages: 1, replies: 1 });
      expect(keyOf(await claim())).toBe('a1');
      expect(await bus.claimReply('web', 1_000)).toBeUndefined();
    });

    it('notifies listeners of changes', async () => {
      let heard = 0;
      using _listening = bus.onChange(() => {
        heard += 1;
      });
      await put('a', 'a1');
      await expect.poll(() => heard, { timeout: 60_000 }).toBeGreaterThan(0);
    });

    it('GW-1: answers every message once and in order when workers fail, die or finish late', async () => {
      const random = generator(7);
      const workers = [bus, await scene.other()];
      const kinds: readonly MessageKind[] = ['interactive', 'scheduled'];
      for (let step = 0; step < 120; step += 1) {
        const lane = `lane-${Math.floor(random() * 6)}`;
        await put(lane, `${lane}/${step}`, { kind: kinds[Math.floor(random() * 2)] ?? 'interactive' });
      }
      const late: { readonly bus: Bus; readonly claim: Claim }[] = [];
      const end = (worker: Bus, held: Claim) =>
        worker.finish(held, {
          state: 'done',
          replies: [reply(held.message.lane, `${held.message.key}/reply`)],
        });
      for (let idle = 0; idle < 3; ) {
        const worker = workers[Math.floor(random() * 2)] ?? bus;
        const held = await worker.claim(every);
        if (held === undefined) {
          clock += 600;
          idle += 1;
          const { waiting, running } = await bus.counts();
          if (waiting + running > 0) idle = 0;
          continue;
        }
        const fate = random();
        if (fate < 0.15) await worker.retry(held, { due: clock + 50, reason: 'failed' });
        else if (fate < 0.3) late.push({ bus: worker, claim: held });
        else await end(worker, held);
        clock += 20;
      }
      expect(late.length).toBeGreaterThan(0);
      for (const each of late)
        await expect(end(each.bus, each.claim)).rejects.toMatchObject({ code: 'lease_lost' });
      for (let lane = 0; lane < 6; lane += 1) {
        const entries = await bus.read(`lane-${lane}`, { after: 0, limit: 1_000 });
        const asked = entries.flatMap((entry) => (entry.type === 'message' ? [entry.message.key] : []));
        const answered = entries.flatMap((entry) => (entry.type === 'reply' ? [entry.reply.key] : []));
        expect(answered).toEqual(asked.map((key) => `${key}/reply`));
      }
    });
  });
}
