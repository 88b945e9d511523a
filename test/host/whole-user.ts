/** A user with one object of each kind that a host stores, and the right names of all of them. */

import type { GeodeClient } from '../../src/client/client.ts';
import type { Caller } from '../api/server-fixture.ts';
import { collect } from '../api/server-fixture.ts';
import { eventually } from '../contracts/harness.ts';
import { type ModelServer, startModelServer } from '../fixtures/model-server/model-server.ts';
import { reflection, solution } from '../solve/shop.ts';
import type { OpenedHost } from './world.ts';

const dayMs = 24 * 3_600_000;

/** Requests open to everybody; their answers repeat the caller's mark. */
export const problem = 'Write a Python function double(n) that gives twice the number.';

/** A model that repeats the mark only to the caller that sent it. */
export function repeatingModel(mark: string): Promise<ModelServer> {
  return startModelServer(({ prompt }) => {
    const said = prompt.includes(mark) ? mark : 'nothing';
    if (/"cause"|why it failed/i.test(prompt)) return reflection(said);
    if (prompt.includes('double(n)')) return solution(`def double(n):\n    return 2 * n  # ${said}\n`);
    return { text: `the answer has ${said}` };
  });
}

/** True once every message in the chat has its last reply, and that is sent: nothing of it changes any more. */
export async function isAnswered(client: GeodeClient, chat: string): Promise<boolean> {
  const events = await collect(client.chats.events(chat, { follow: false }));
  const sent = events.filter((event) => event.type === 'reply' && event.isLast && event.state === 'sent');
  return sent.length > 0 && sent.length === events.filter(({ type }) => type === 'message').length;
}

export interface WholeUser {
  /** The value in a path: the name of an object of this user. */
  nameOf(place: string, path: string): string;
  /** Names that the host made up, which nobody else can know. */
  readonly ids: readonly string[];
  /** All that this user can look at, without the times. */
  view(): Promise<readonly string[]>;
}

/** Everything has the mark in it: names do not, so that others may have them too. */
export async function wholeUser(
  { host }: OpenedHost,
  { user, client, call, mark }: { user: string; client: GeodeClient; call: Caller; mark: string },
): Promise<WholeUser> {
  await client.sandboxes.getOrCreate('room', { labels: { note: mark } });
  const sandbox = client.sandboxes.of('room');
  await sandbox.files.write('note.txt', mark);
  await sandbox.snapshots.take({ name: 'point' });
  const script = `echo ${mark}; sleep 36000`;
  const { id: process } = await sandbox.spawn({ argv: ['/bin/sh', '-c', script], timeoutMs: null });
  await client.ingest({ id: 'fact', content: `a fact with ${mark}`, category: 'core', source: user });
  // Off: no call leaves this machine.
  await client.webhooks.set('ops', { url: `https://hooks.example.com/${mark}`, enabled: false });
  await client.secrets.set('token', `value-${mark}`);
  const context = await client.contexts.open('python', { chat: 'room' });
  await context.run(`print("${mark}")`);
  await sandbox.tools.open();
  await client.runs.run(`echo ${mark}`, 'shell');
  const [run] = await client.runs.list();
  const solving = {
    problem: `${problem} Name it ${mark}.`,
    tests: 'assert double(2) == 4',
    language: 'python',
  };
  await collect(client.solves.solve(solving));
  const [solve] = await client.solves.list();
  const [crystal] = await client.solves.crystals();
  const [turn] = await collect(client.agents.send('talk', { text: `say ${mark}` }));
  await client.chats.post('line', { text: `say ${mark}` });
  await eventually(() => isAnswered(client, 'line'), 'the answer in the chat', 60_000);
  const schedule = await client.chats.schedule('line', { when: '0 9 1 1 *', text: mark });
  // Nobody decides it: it ends with the host.
  host.approvals.ask({ user, chat: 'room', kind: 'tool', title: mark, waitMs: dayMs }).catch(() => {});
  const [approval] = await client.approvals.list();
  const key = host.keys.create({ user, scopes: ['runs'], label: mark });
  const made = { process, context: context.id, run: run?.id, solve: solve?.id, crystal: crystal?.key };
  const ids = { ...made, schedule: schedule.id, approval: approval?.id, key: key.key.id, turn: turn?.turn };
  for (const [kind, id] of Object.entries(ids)) if (!id) throw new Error(`${user} has no ${kind}`);
  const places: Readonly<Record<string, string>> = {
    file: 'note.txt',
    // This runtime saves no memory: a checkpoint is there for nobody.
    checkpoint: 'ready',
    ...{ process, snapshot: 'point', name: 'token', key: ids.crystal ?? '', approval: ids.approval ?? '' },
    ...{ webhook: 'ops', image: 'base', code: 'ABC234', channel: 'web', sender: user, turn: ids.turn ?? '' },
  };
  const byPath: readonly (readonly [RegExp, string, string | undefined])[] = [
    [/\/agents\//, 'chat', 'talk'],
    [/\/chats\//, 'chat', 'line'],
    [/\/sandboxes\//, 'chat', 'room'],
    [/\/context\//, 'id', 'fact'],
    [/\/contexts\//, 'id', ids.context],
    [/\/runs\//, 'id', ids.run],
    [/\/solve\//, 'id', ids.solve],
    [/\/schedules\//, 'id', ids.schedule],
    [/\/keys\//, 'id', ids.key],
    [/\/permissions\//, 'id', 'call-1'],
  ];
  const nameOf = (place: string, path: string) => {
    const name = byPath.find(([where, at]) => at === place && where.test(path))?.[2] ?? places[place];
    if (name === undefined)
      throw new Error(`Nothing is known of {${place}} in ${path}: say what ${user} has there.`);
    return name;
  };
  const paths = [
    ...['context?limit=100', 'context/fact?versions=true', 'sandboxes', 'sandboxes/room/labels', 'runs'],
    ...['sandboxes/room/files?path=.', 'sandboxes/room/files/content?path=note.txt'],
    ...[
      'sandboxes/room/snapshots',
      'sandboxes/room/journals',
      'sandboxes/room/tools',
      'sandboxes/room/egress',
    ],
    ...[`sandboxes/room/processes`, `contexts/${ids.context}/cells`, 'contexts', `runs/${ids.run}`],
    ...[`solve/${ids.solve}`, 'solve', 'crystals', 'agents', 'agents/talk/events?follow=false', 'chats'],
    'agents/talk/turns',
    ...['chats/line/events?follow=false', 'chats/line/export', 'schedules', 'approvals?state=all', 'tools'],
    ...['egress/bindings', 'egress/default', 'egress/grants', 'egress/log', 'secrets'],
    ...['webhooks', 'webhooks/ops/deliveries'],
  ];
  const view = async () => {
    const views: string[] = [];
    for (const path of paths) {
      const { status, text } = await call(`/api/v1/${path}`);
      views.push(`${path} ${status} ${text.replace(changing, '')}`);
    }
    return views;
  };
  return { nameOf, ids: Object.values(ids).filter((id) => id !== undefined), view };
}

/** Times and sizes, which change by themselves. */
const changing = /"[a-z_]*(_at|_ms|idle|cpu|bytes)[a-z_]*":("[^"]*"|[\d.]+|null)/g;
