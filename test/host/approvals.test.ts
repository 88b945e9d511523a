import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { approvalChapter } from '../../src/approvals/approval-table.ts';
import { createClient } from '../../src/client/client.ts';
import { unixTransport } from '../../src/client/unix-transport.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { OpenHost } from '../../src/host/open-host.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { ApprovalRequest } from '../../src/seams/approval.ts';
import type { HostEvent } from '../../src/seams/events.ts';
import { hostWorld, type OpenedHost } from './world.ts';

const request: ApprovalRequest = {
  user: 'ann',
  sandbox: 'room-1',
  chat: 'demo',
  kind: 'tool',
  title: 'Run a command in demo',
  detail: 'rm -rf build\nmake',
};

const clientOf = ({ host, gateway }: OpenedHost, user: string, scopes: Scopes = ['approvals']) => {
  const { secret, key } = host.keys.create({ user, scopes });
  return { ...createClient({ url: gateway.url, key: secret }), keyId: key.id };
};
type Scopes = Parameters<OpenHost['keys']['create']>[0]['scopes'];

describe('approvals', () => {
  it('ask a person over the API, return the decision to the asker at once, and record who decided', async () => {
    await using world = hostWorld();
    const opened = await world.open();
    const { approvals } = opened.host;
    const ann = clientOf(opened, 'ann');
    const watched = ann.approvals.watch();
    const seen = watched.next();

    const asked = approvals.ask(request);
    const { value: open } = await seen;
    expect(open).toMatchObject({ ...request, state: 'open', decision: null, decidedBy: null });
    expect(await ann.approvals.list()).toEqual([open]);
    if (open === undefined) throw new Error('nothing was asked');

    const bob = clientOf(opened, 'bob');
    expect(await bob.approvals.list({ state: 'all' })).toEqual([]);
    await expect(bob.approvals.get(open.id)).rejects.toMatchObject({ code: 'approval_not_found' });
    await expect(bob.approvals.decide(open.id, { decision: 'allow-once' })).rejects.toMatchObject({
      code: 'approval_not_found',
    });
    const plain = clientOf(opened, 'ann', ['sandboxes:read', 'sandboxes:write', 'runs', 'admin']);
    await expect(plain.approvals.list()).rejects.toMatchObject({ code: 'forbidden' });
    await expect(plain.approvals.decide(open.id, { decision: 'allow-once' })).rejects.toMatchObject({
      code: 'forbidden',
    });

    const decided = await ann.approvals.decide(open.id, { decision: 'allow-always', forMs: 60_000 });
    expect(decided).toMatchObject({
      state: 'decided',
      decision: 'allow-always',
      decidedBy: `key ${ann.keyId}`,
      until: (decided.decidedAt ?? 0) + 60_000,
    });
    expect(await asked).toEqual(decided);
    expect((await watched.next()).value).toEqual(decided);
    await watched.return(undefined);
    await expect(ann.approvals.decide(open.id, { decision: 'deny' })).rejects.toMatchObject({
      code: 'approval_decided',
      message: expect.stringContaining(`key ${ann.keyId} chose allow-always`),
    });
    expect(await ann.approvals.list()).toEqual([]);
    expect(await ann.approvals.list({ state: 'all' })).toEqual([decided]);

    const events: HostEvent[] = [];
    for await (const event of ann.events({ after: 0, follow: false }))
      if (event.type !== 'gap') events.push(event);
    const of = { approval: open.id, kind: 'tool', sandbox: 'room-1', chat: 'demo', user: 'ann' };
    expect(events).toMatchObject([
      { type: 'approval-asked', ...of },
      { type: 'approval-decided', ...of, state: 'decided', decision: 'allow-always' },
    ]);
    expect(JSON.stringify(events)).not.toContain('rm -rf');
  });

  it('return the answer to a question, and refuse answers that were not offered', async () => {
    await using world = hostWorld();
    const { host, socket } = await world.open();
    const ann = createClient(unixTransport(socket.path)).as('ann');
    const asked = host.approvals.ask({
      user: 'ann',
      kind: 'question',
      title: 'Which port?',
      answers: ['8080', '9090'],
      choices: ['allow-once'],
    });
    const [open] = await ann.approvals.list();
    expect(open).toMatchObject({ answers: ['8080', '9090'], choices: ['allow-once', 'deny'], chat: null });
    const id = open?.id ?? '';
    await expect(ann.approvals.decide(id, { decision: 'allow-always' })).rejects.toMatchObject({
      code: 'invalid_input',
    });
    await ann.approvals.decide(id, { decision: 'allow-once', answer: '9090' });
    expect(await asked).toMatchObject({ answer: '9090', decidedBy: 'socket' });
  });

  it('outlive the host: an undelivered decision goes to the next request with the same key, once', async () => {
    await using world = hostWorld();
    const first = await world.open();
    const keyed: ApprovalRequest = { ...request, key: 'make', whenLeft: 'keep' };
    const left = first.host.approvals.ask(keyed);
    const joined = first.host.approvals.ask(keyed);
    const ends = [left, joined].map((each) => expect(each).rejects.toMatchObject({ code: 'stopping' }));
    expect(first.host.approvals.list('ann')).toHaveLength(1);
    await first[Symbol.asyncDispose]();
    await Promise.all(ends);

    const second = await world.open();
    const ann = createClient(unixTransport(second.socket.path)).as('ann');
    const [open] = await ann.approvals.list();
    expect(open).toMatchObject({ title: request.title, state: 'open' });
    await ann.approvals.decide(open?.id ?? '', { decision: 'allow-session' });
    expect(await second.host.approvals.ask(keyed)).toMatchObject({ id: open?.id, decision: 'allow-session' });
    const again = second.host.approvals.ask(keyed);
    const [anew] = await ann.approvals.list();
    expect(anew?.id).not.toBe(open?.id);
    await ann.approvals.decide(anew?.id ?? '', { decision: 'deny' });
    expect(await again).toMatchObject({ decision: 'deny' });
  });

  it('are denied when they expire, and withdrawn when the asker disconnects', async () => {
    await using world = hostWorld();
    const { host } = await world.open();
    const { approvals } = host;
    const late = await approvals.ask({ ...request, waitMs: 20 });
    expect(late).toMatchObject({ state: 'expired', decision: 'deny', decidedBy: null });
    expect(() => approvals.decide('ann', late.id, { decision: 'allow-once', by: 'me' })).toThrow(
      expect.objectContaining({ code: 'approval_decided', message: expect.stringContaining('time ran out') }),
    );

    const leaving = new AbortController();
    const left = approvals.ask(request, { signal: leaving.signal });
    const [open] = approvals.list('ann');
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: 'cancelled' });
    expect(approvals.get('ann', open?.id ?? '')).toMatchObject({ state: 'withdrawn', decision: 'deny' });

    const gone = approvals.ask(request);
    approvals.withdraw('room-1');
    expect(await gone).toMatchObject({ state: 'withdrawn', decision: 'deny' });
  });

  it('expire while no host runs', async () => {
    await using world = hostWorld();
    const first = await world.open();
    const end = expect(first.host.approvals.ask(request)).rejects.toMatchObject({ code: 'stopping' });
    const [open] = first.host.approvals.list('ann');
    const { config } = await loadConfig(world.machine);
    const file = join(config.sandbox.state_dir, 'ledger.db');
    await first[Symbol.asyncDispose]();
    await end;
    using ledger = new Ledger(file, [approvalChapter]);
    ledger.write((sql) => sql.run`UPDATE approvals SET expires_at = ${Date.now() - 1}`);
    const second = await world.open();
    expect(second.host.approvals.get('ann', open?.id ?? '')).toMatchObject({ state: 'expired' });
  });

  it('refuse requests above their limits: one sandbox cannot flood a person, and no request is shortened', async () => {
    await using world = hostWorld();
    const { host } = await world.open();
    const { approvals } = host;
    const leaving = new AbortController();
    const open = Array.from({ length: 32 }, () => approvals.ask(request, { signal: leaving.signal }));
    const ends = open.map((each) => expect(each).rejects.toMatchObject({ code: 'cancelled' }));
    await expect(approvals.ask(request)).rejects.toMatchObject({ code: 'too_many_approvals' });
    const other = approvals.ask({ ...request, sandbox: 'room-2', waitMs: 20 });
    expect(await other).toMatchObject({ state: 'expired' });
    await expect(approvals.ask({ ...request, detail: 'x'.repeat(300_000) })).rejects.toMatchObject({
      code: 'too_large',
    });
    leaving.abort();
    await Promise.all(ends);
    expect(approvals.list('ann')).toEqual([]);
  });
});
