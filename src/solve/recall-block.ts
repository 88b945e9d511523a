import { shortenMiddle } from '../base/shorten-middle.ts';
import { estimateTokens } from '../base/tokens.ts';
import type { Entry } from '../seams/memory.ts';
import type { Crystal } from './crystal.ts';
import { quote } from './quote.ts';

export type Note = Pick<Entry, 'key' | 'content' | 'sources' | 'stale'>;

export interface RecallBlock {
  readonly text: string;
  readonly tokens: number;
  /** The crystals in the block. */
  readonly crystals: readonly Crystal[];
  /** The keys of all entries in the block, crystals included. */
  readonly keys: readonly string[];
}

const shortest = 200;

/**
 * Recalled text as one part of a prompt: quoted as data, each piece with its source, without repetition, and at most
 * `mostTokens` in total. Crystals come first, the latest recalled one first. A piece that does not fit is cut in the
 * middle, or left out if almost nothing would remain.
 */
export function recallBlock(
  crystals: readonly Crystal[],
  notes: readonly Note[],
  mostTokens: number,
): RecallBlock {
  const used: Crystal[] = [];
  const keys: string[] = [];
  const texts = new Set<string>();
  const lines: string[] = [];
  let tokens = 0;
  const add = (heading: string, { key }: { readonly key: string }, text: string): boolean => {
    const same = text.replace(/\s+/g, ' ').trim();
    if (same === '' || texts.has(same)) return false;
    const begun = lines.includes(heading) ? [] : [heading];
    const piece = fitting(text, (cut) => cost([...begun, quote(cut)]) <= mostTokens - tokens);
    if (piece === undefined) return false;
    texts.add(same);
    keys.push(key);
    const more = [...begun, quote(piece)];
    lines.push(...more);
    tokens += cost(more);
    return true;
  };
  for (const crystal of crystals)
    if (add('Earlier solutions of similar problems; they may not fit:', crystal, textOf(crystal)))
      used.push(crystal);
  for (const note of notes) add('Notes that may help:', note, textOfNote(note));
  return { text: lines.join('\n'), tokens, crystals: used, keys };
}

/** Each line also costs its line break. */
function cost(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + estimateTokens(line) + 1, 0);
}

/** The whole text, or as much of both ends as fits; undefined if that is too little to be useful. */
function fitting(text: string, fits: (cut: string) => boolean): string | undefined {
  for (let most = text.length; most >= Math.min(shortest, text.length); most = Math.floor(most * 0.8)) {
    const cut = shortenMiddle(text, most);
    if (fits(cut)) return cut;
  }
  return undefined;
}

function textOf({ key, problem, errors, language, solution }: Crystal): string {
  const met = errors.length === 0 ? '' : `\nErrors on the way:\n${errors.join('\n')}`;
  return `From ${key}\nProblem: ${shortenMiddle(problem, 1_000)}${met}\nSolution (${language}):\n${shortenMiddle(solution, 4_000)}`;
}

function textOfNote({ key, content, sources, stale }: Note): string {
  const from = sources.length === 0 ? key : `${key} (${sources.slice(0, 3).join(', ')})`;
  return `From ${from}${stale === null ? '' : `, ${stale}`}\n${shortenMiddle(content, 1_000)}`;
}
