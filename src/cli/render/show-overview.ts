/** `geode status` for people. */

import type { HostFacts } from '../../machine/named-host.ts';
import type { Available } from '../../seams/runtime.ts';
import type { SandboxLine, StatusFacts } from '../connect/gather-status.ts';
import { shownName } from '../input/chat-name.ts';
import { agoText, spanText } from './ages.ts';
import { printableLine } from './printable.ts';
import { table } from './table.ts';

export interface ShownLimits {
  readonly memory: number | null;
  readonly cpus: number | null;
  readonly pids: number | null;
  readonly disk: number | null;
}

/** Both in ms; null: for ever. */
interface Stays {
  /** A sandbox that nothing uses, while there is a host. */
  readonly idleMs: number | null;
  /** A sandbox without a host. */
  readonly leaseMs: number;
}

export function overviewLines(
  facts: StatusFacts,
  limits: ShownLimits,
  stays: Stays,
  shell: string,
): readonly string[] {
  const { runtime, runtimes, sandboxes } = facts;
  const rows = runtimes.map((found) =>
    found.available
      ? [
          found.name === runtime ? `* ${found.name}` : `  ${found.name}`,
          found.grade,
          `${found.version}${weaknesses(found)}`,
        ]
      : [`  ${found.name}`, '-', `not available: ${found.reason}. ${found.fix}`],
  );
  return [
    ...table([['  RUNTIME', 'GRADE', ''], ...rows]),
    '',
    `Limits of a sandbox, where the runtime can hold them: memory ${size(limits.memory)}, CPUs ${shown(limits.cpus)}, processes ${shown(limits.pids)}, disk ${size(limits.disk)}.`,
    `Command policy: ${shell}`,
    hostText(facts.host),
    ...providerLines(facts),
    ...section('Channels:', facts.channels.map(channelRow)),
    ...approvalLines(facts),
    sandboxes.length === 0 ? 'No sandboxes.' : '',
    ...table(sandboxes.map((each) => sandboxRow(each, facts.host !== null, stays))).map((line) =>
      line.trimEnd(),
    ),
  ];
}

function hostText(host: HostFacts | null): string {
  if (host === null) return 'Host of the sandboxes that stay: none; a command that needs one starts it.';
  const { pid, since, serves } = host;
  const who = serves === undefined ? 'a command or a program of its own' : serves.as;
  const end = serves?.as === 'geode host' ? '; geode host stop ends it' : '';
  return `Host of the sandboxes that stay: process ${pid} (${who}), for ${spanText(Date.now() - since)}${end}.`;
}

const keyWords = {
  secret: 'key stored as a secret',
  config: 'key in the config file',
  none: 'no key',
  missing: 'its secret is not stored: geode onboard provider',
} as const;

function providerLines({ providers, budget }: StatusFacts): readonly string[] {
  const rows = providers.services.map(({ name, kind, key }) => [`  ${name}`, kind, keyWords[key]]);
  const usual = providers.default === null ? '' : ` The usual model: ${providers.default}.`;
  const limit = budget.limitUsd === null ? 'no limit' : `of ${budget.limitUsd} US$ a day`;
  return [
    providers.services.length === 0
      ? 'Providers of models: none; geode onboard sets one up.'
      : `Providers of models:${usual}`,
    ...table(rows).map((line) => line.trimEnd()),
    `Spent on models today: ${budget.spentUsd.toFixed(2)} US$ (${limit}).`,
  ];
}

function approvalLines({ approvals }: StatusFacts): readonly string[] {
  if (approvals.length === 0) return [];
  const rows = approvals.map(({ id, title }) => [`  ${id}`, printableLine(title).slice(0, 100)]);
  return section('Waiting for your decision (geode approvals ls):', rows);
}

function section(title: string, rows: readonly (readonly string[])[]): readonly string[] {
  return rows.length === 0 ? [] : [title, ...table(rows).map((line) => line.trimEnd())];
}

/** Deaf since when, and why. */
function channelRow({ channel, state, since, lastError }: StatusFacts['channels'][number]) {
  const now = since === null ? state : `${state} since ${agoText(since)}`;
  return [`  ${channel}`, now, lastError === null ? '' : `last error: ${printableLine(lastError)}`];
}

function sandboxRow(sandbox: SandboxLine, hasHost: boolean, stays: Stays): readonly string[] {
  const { id, runtime, grade = '-', state } = sandbox;
  const name = 'chat' in sandbox ? shownName(sandbox) : id;
  return [`  ${name}`, runtime, grade, state, state === 'running' ? endText(sandbox, hasHost, stays) : ''];
}

/** When a sandbox that runs is stopped, as things are now. */
function endText(sandbox: SandboxLine, hasHost: boolean, { idleMs, leaseMs }: Stays): string {
  if (!hasHost) return `stops ${spanText(leaseMs)} after its host ended`;
  if (!('chat' in sandbox)) return '';
  if (idleMs === null) return 'stays until it is stopped';
  const { activeAt, keptUntil, thinkingUntil } = sandbox;
  const left = Math.max(activeAt, keptUntil, thinkingUntil) + idleMs - Date.now();
  const why = thinkingUntil > Date.now() ? ', an agent works' : '';
  return `stops in ${spanText(left)} if nothing uses it${why}`;
}

function weaknesses({ capabilities: { limits, softLimits } }: Available): string {
  const missing = Object.entries(limits).flatMap(([name, can]) => (can ? [] : [name]));
  const soft = softLimits.length === 0 ? '' : `; limits ${softLimits.join(', ')} softly (geode doctor)`;
  return `${soft}${missing.length === 0 ? '' : `; cannot limit ${missing.join(', ')} here`}`;
}

function size(bytes: number | null): string {
  return bytes === null ? 'unlimited' : `${Math.round(bytes / 1024 ** 2)}m`;
}

function shown(limit: number | null): string {
  return limit === null ? 'unlimited' : String(limit);
}
