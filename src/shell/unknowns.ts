import { limits } from './limits.ts';
import { Refusal } from './verdict.ts';

/**
 * Text that only running the command would tell, each piece as one character of Unicode's private use area.
 *
 * A value can then be partly known (`/tmp/` and something), be cut, joined and parsed as any other string,
 * and still tell where its unknown pieces came from. The commands given to the policy are cleaned of such
 * characters first, so that none can be smuggled in.
 */
export type Origin =
  | 'unknown'
  /** A variable that may have more values than the policy keeps. */
  | 'too-many'
  /** Literal text that went through a filter which the policy does not follow. */
  | 'disguised'
  | 'decoded'
  | 'downloaded'
  /** What a raw connection sent. */
  | 'connection'
  /** What a shell wrote that takes its commands from elsewhere. */
  | 'shell';

const gravity: readonly Origin[] = [
  'unknown',
  'too-many',
  'disguised',
  'decoded',
  'downloaded',
  'connection',
  'shell',
];
const firstMark = 0xe000;
const marks = /[\uE000-\uF8FF]/g;

/** Stands for a value that was given up; the last character of the area, which no mark gets. */
export const tooManyValues = '\uF8FF';

export class Unknowns {
  readonly #origins: Origin[] = [];
  readonly #byKey = new Map<string, string>();

  /** The mark for one unknown text; the same key gives the same mark, so that a name made twice is one name. */
  mark(origin: Origin, key: string): string {
    const fullKey = `${origin} ${key}`;
    const known = this.#byKey.get(fullKey);
    if (known !== undefined) return known;
    if (this.#origins.length >= limits.unknowns) {
      throw new Refusal(
        'too-complex',
        'The command has too many parts that only running it would tell.',
        key,
      );
    }
    const mark = String.fromCharCode(firstMark + this.#origins.length);
    this.#origins.push(origin);
    this.#byKey.set(fullKey, mark);
    return mark;
  }

  /** The gravest origin among the unknown pieces of a text; `undefined` when all of it is known. */
  originOf(text: string): Origin | undefined {
    let gravest = -1;
    for (const [mark] of text.matchAll(marks)) {
      const origin = mark === tooManyValues ? 'too-many' : this.#origins[mark.charCodeAt(0) - firstMark];
      if (origin !== undefined) gravest = Math.max(gravest, gravity.indexOf(origin));
    }
    return gravity[gravest];
  }
}

export function hasUnknown(text: string): boolean {
  return text.search(marks) >= 0;
}

export function withoutUnknown(text: string): string {
  return text.replace(marks, '');
}

/** A command as given, with the characters that the policy uses for itself replaced. */
export function withoutMarks(source: string): string {
  return source.replace(marks, '\uFFFD');
}
