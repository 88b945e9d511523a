/** Entries and search results for people: the matches stand out, and each rank has its reason. */
import { styleText } from 'node:util';
import { words } from '../../base/words.ts';
import type {
  Answer,
  Entry,
  EntryVersion,
  Explanation,
  HalfScore,
  Page,
  Result,
  Uses,
} from '../../seams/memory.ts';
import { printable } from './printable.ts';

export function renderAnswer({ results, total, totalIs, degraded }: Answer, offset: number): string {
  const lines = results.map((result, index) => renderResult(result, offset + index + 1));
  const range = rangeOf(results.length, offset, `${totalIs === 'capped' ? 'more than ' : ''}${total}`);
  const warnings = degraded.map(({ half, reason }) =>
    styleText('yellow', `The ${half} half did not answer: ${reason}`),
  );
  return [...lines, range, ...warnings].join('\n\n');
}

export function renderPage({ entries, total }: Page, offset: number): string {
  const lines = entries.map((entry) => `${title(entry)}\n${indent(excerpt(entry.content, new Set()))}`);
  return [...lines, rangeOf(entries.length, offset, String(total))].join('\n\n');
}

export function renderEntry(entry: Entry): string {
  const facts = [
    `version ${entry.version}, stored ${entry.sightings}×`,
    `created ${entry.createdAt.toISOString()}, changed ${entry.updatedAt.toISOString()}`,
    `from ${printable(entry.sources.join(', '))}`,
    usesOf(entry.uses),
  ];
  return [title(entry), ...facts.map((fact) => styleText('dim', fact)), '', printable(entry.content)].join(
    '\n',
  );
}

function usesOf({ recalled, helped, hurt, lastRecalledAt }: Uses): string {
  const last = lastRecalledAt === null ? '' : `, last ${lastRecalledAt.toISOString()}`;
  const attempts = helped + hurt === 0 ? '' : `; helped ${helped}, hurt ${hurt}`;
  return `recalled ${recalled}×${last}${attempts}`;
}

export function renderVersion({ version, updatedAt, content }: EntryVersion): string {
  return [
    styleText('dim', `version ${version}, until ${updatedAt.toISOString()}`),
    '',
    printable(content),
  ].join('\n');
}

function rangeOf(shown: number, offset: number, total: string): string {
  return styleText('dim', `${shown > 0 ? `${offset + 1}–${offset + shown}` : 'nothing'} of ${total}`);
}

function renderResult({ entry, score, why }: Result, rank: number): string {
  const body = excerpt(entry.content, new Set(why.words));
  const reason = styleText('dim', `score ${score.toFixed(3)}: ${reasonFor(why, entry.content)}`);
  return `${rank}. ${title(entry)}\n${indent(body)}\n${indent(reason)}`;
}

function title(entry: Entry): string {
  const mark = entry.stale ? ` ${styleText('yellow', `[${staleness(entry)}]`)}` : '';
  const tags = entry.tags.map((tag) => ` #${tag}`).join('');
  return `${styleText('bold', printable(entry.key))}  ${styleText('cyan', entry.category)}${tags && styleText('dim', printable(tags))}${mark}`;
}

function staleness({ stale, supersededBy, validUntil }: Entry): string {
  return stale === 'superseded'
    ? `superseded by ${printable(supersededBy ?? '')}`
    : `expired ${validUntil?.toISOString() ?? ''}`;
}

function reasonFor({ exact, dense, keyword, trust, words: indexed }: Explanation, content: string): string {
  const matched = asWritten(content, indexed);
  const exactReason = exact && `the whole ${exact} matches`;
  const reasons = [
    exactReason,
    keyword && `words ${half(keyword)}${matched.length > 0 ? ` (${matched.join(', ')})` : ''}`,
    dense && `meaning ${half(dense)}`,
    trust < 1 && `× ${trust.toFixed(2)}: it hurt more attempts than it helped`,
  ];
  return reasons.filter(Boolean).join(' · ');
}

function half({ rank, normalised, share }: HalfScore): string {
  return `#${rank}, ${normalised.toFixed(2)} × ${share.toFixed(2)}`;
}

/** The matched words as written in the entry. Words outside of its content, such as a name, stay in indexed form. */
function asWritten(content: string, indexed: readonly string[]): string[] {
  const missing = new Set(indexed);
  const written: string[] = [];
  for (const [run] of printable(content).matchAll(wordRun)) {
    if (missing.size === 0) break;
    const found = words(run).filter((word) => missing.delete(word));
    if (found.length > 0) written.push(run);
  }
  return [...written, ...missing];
}

/** The part of the content around the first match, with all matches in it marked. */
function excerpt(content: string, matched: ReadonlySet<string>): string {
  const text = printable(content).replaceAll(/\s+/g, ' ').trim();
  const matches = [...text.matchAll(wordRun)].filter(([run]) => words(run).some((word) => matched.has(word)));
  const start = Math.max(0, (matches[0]?.index ?? 0) - leadLength);
  const end = start + excerptLength;
  let shown = start > 0 ? '…' : '';
  let position = start;
  for (const { index, 0: run } of matches) {
    if (index + run.length > end) break;
    shown += text.slice(position, index) + styleText(['bold', 'green'], run);
    position = index + run.length;
  }
  return `${shown}${text.slice(position, end)}${end < text.length ? '…' : ''}`;
}

const wordRun = /[\p{L}\p{N}\p{M}_$]+/gu;
const leadLength = 60;
const excerptLength = 240;

function indent(text: string): string {
  return text.replaceAll(/^/gm, '   ');
}
