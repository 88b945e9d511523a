/** Finds what is wrong in the memory of one namespace. Changes nothing. */
import type { Cancel } from '../../base/cancel.ts';
import { throwIfCancelled } from '../../base/cancel.ts';
import { localUser } from '../../base/identity.ts';
import { scrub } from '../../base/scrub.ts';
import { chatOfNamespace, userOfNamespace } from '../../seams/chat-memory.ts';
import { type Audit, type Entry, type Finding, findingKinds } from '../../seams/memory.ts';
import type { MemoryParts } from '../namespace-memory.ts';
import { entriesAfter } from '../truth/read-entries.ts';
import { usesSince } from '../truth/uses.ts';
import { comparable, contradiction, sameStatement } from './compare.ts';
import { type AuditedEntry, likelyPairs, type Meaning } from './pairs.ts';

const PAGE = 500;
/** A larger memory is compared by words only: each entry costs a search. */
const COMPARED_BY_MEANING = 20_000;
const DAY_MS = 24 * 3_600_000;
/** After this time a note of the day is stale, and an entry that no search found is reported. */
const UNUSED_MS = 30 * DAY_MS;
const DAILY = ['daily', 'scratch'];

/** Every finding is removed by removing its first entry. */
type Found = Omit<Finding, 'mend'>;

interface Read extends AuditedEntry {
  readonly entry: Entry;
}

export async function audit(parts: MemoryParts, namespace: string, options: Cancel): Promise<Audit> {
  const now = parts.now();
  // Without these counts, an entry that was found a moment ago may be reported.
  await parts.uses.flush().catch(() => {});
  const model = await parts.indexer.modelSoon();
  const read = await readAll(parts, namespace, model?.id ?? null, options);
  const secrets = [...parts.secrets(namespace)];
  const since = parts.truth.read(usesSince);
  const findings = read.flatMap(({ entry }) => [
    ...secretIn(entry, secrets),
    ...staleness(entry, now),
    ...neverRecalled(entry, Math.max(since, entry.createdAt.getTime()), now),
  ]);
  const current = read.filter(({ entry }) => entry.stale === null);
  const meaning =
    model !== null && current.length <= COMPARED_BY_MEANING
      ? { index: parts.index, model, namespace, now }
      : null;
  const pairs = await comparedPairs(current, meaning, options);
  const order = (finding: Found) => findingKinds.indexOf(finding.kind);
  return {
    findings: [...findings, ...pairs.findings]
      .sort((a, b) => order(a) - order(b))
      .map((found) => ({ ...found, mend: removal(found.keys[0] ?? '', namespace) })),
    checked: read.length,
    compared: pairs.compared,
  };
}

/** Compares by words alone if the index does not answer. */
async function comparedPairs(
  current: readonly Read[],
  meaning: Meaning | null,
  options: Cancel,
): Promise<{ readonly findings: readonly Found[]; readonly compared: Audit['compared'] }> {
  try {
    const findings = await pairFindings(current, meaning, options);
    return { findings, compared: meaning === null ? 'words' : 'words and meaning' };
  } catch (thrown) {
    throwIfCancelled(options.signal, 'The audit');
    if (meaning === null) throw thrown;
    return { findings: await pairFindings(current, null, options), compared: 'words' };
  }
}

async function pairFindings(
  current: readonly Read[],
  meaning: Meaning | null,
  options: Cancel,
): Promise<Found[]> {
  const byId = new Map(current.map((each) => [each.id, each]));
  const findings: Found[] = [];
  const repeated = new Set<string>();
  for await (const { older, newer, likeness } of likelyPairs(current, meaning, options)) {
    const [one, other] = [byId.get(older), byId.get(newer)];
    const finding = one !== undefined && other !== undefined ? judged(one, other, likeness) : null;
    if (finding === null) continue;
    if (finding.kind === 'duplicate') {
      // Of many equal entries each is reported once.
      if (finding.keys.some((key) => repeated.has(key))) continue;
      repeated.add(finding.keys[0] ?? '');
    }
    findings.push(finding);
  }
  return findings;
}

async function readAll(
  { truth, now }: MemoryParts,
  namespace: string,
  model: number | null,
  { signal }: Cancel,
): Promise<Read[]> {
  const all: Read[] = [];
  for (let after = 0; ; ) {
    throwIfCancelled(signal, 'The audit');
    const page = truth.read((sql) => entriesAfter(sql, namespace, { after, limit: PAGE, model, now: now() }));
    for (const { id, entry, vector } of page) all.push({ id, entry, vector, ...comparable(entry.content) });
    const last = page.at(-1);
    if (last === undefined) return all;
    after = last.id;
    await new Promise(setImmediate);
  }
}

function secretIn(entry: Entry, values: readonly string[]): Found[] {
  const texts = [entry.content, entry.context ?? '', ...entry.tags, ...entry.sources, ...entry.identifiers];
  const found = texts.map((text) => scrub(text, values)).filter(({ count }) => count > 0);
  const [first] = found;
  if (first === undefined) return [];
  const kind = first.text.match(/\[([^\]]+) removed\]/)?.[1] ?? 'secret';
  return [
    {
      kind: 'secret',
      keys: [entry.key],
      evidence: `It contains a ${kind}: ${around(first.text)}`,
    },
  ];
}

function around(scrubbed: string): string {
  const at = Math.max(0, scrubbed.indexOf(' removed]') - 60);
  return `…${scrubbed.slice(at, at + 100).replace(/\s+/g, ' ')}…`;
}

function staleness(
  { key, stale, supersededBy, validUntil, category, updatedAt }: Entry,
  now: number,
): Found[] {
  const days = Math.floor((now - updatedAt.getTime()) / DAY_MS);
  const evidence =
    stale === 'expired'
      ? `It was valid until ${day(validUntil ?? updatedAt)}.`
      : stale === 'superseded'
        ? `${JSON.stringify(supersededBy)} replaced it.`
        : DAILY.includes(category) && now - updatedAt.getTime() > UNUSED_MS
          ? `A ${category} entry that nobody changed for ${days} days.`
          : null;
  return evidence === null ? [] : [{ kind: 'stale', keys: [key], evidence }];
}

function neverRecalled({ key, uses, stale }: Entry, since: number, now: number): Found[] {
  if (stale !== null || uses.recalled > 0 || now - since < UNUSED_MS) return [];
  const evidence = `No search found it since ${day(new Date(since))}.`;
  return [{ kind: 'never-recalled', keys: [key], evidence }];
}

function judged(one: Read, other: Read, likeness: number | null): Found | null {
  const [a, b] = [one.entry, other.entry];
  // Turns of a conversation repeat and correct each other.
  if (a.thread !== null && a.thread === b.thread) return null;
  const reason = contradiction(one, other, likeness);
  const [old, current] = a.updatedAt <= b.updatedAt ? [a, b] : [b, a];
  if (reason !== null) {
    const evidence = `${reason}; ${JSON.stringify(current.key)} is newer, of ${day(current.updatedAt)}.`;
    return { kind: 'contradiction', keys: [old.key, current.key], evidence };
  }
  if (a.category !== b.category || !sameStatement(one, other, likeness)) return null;
  const [less, more] = b.sightings > a.sightings ? [a, b] : [b, a];
  const evidence = `It says the same as ${JSON.stringify(more.key)}: ${quoted(more.content)}`;
  return { kind: 'duplicate', keys: [less.key, more.key], evidence };
}

function quoted(content: string): string {
  const line = content.replace(/\s+/g, ' ').trim();
  return JSON.stringify(line.length > 80 ? `${line.slice(0, 79)}…` : line);
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** The command names the memory that the entry is in: another one may have the same key. */
function removal(key: string, namespace: string): string {
  const user = userOfNamespace(namespace);
  const chat = chatOfNamespace(namespace);
  const place = [
    ...(user === localUser ? [] : ['--user', shellWord(user)]),
    ...(chat === null ? [] : [`--chat=${shellWord(chat)}`]),
  ];
  return ['geode memory rm', ...place, ...(key.startsWith('-') ? ['--'] : []), shellWord(key)].join(' ');
}

function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
