import { type CommandFrame, unknown } from './frame.ts';

/**
 * A path in parts, each a shell pattern, after `//`, `.` and `..` are resolved. `rooted` is false if it starts in a
 * folder that only running the command would show.
 */
export interface Path {
  readonly rooted: boolean;
  readonly parts: readonly string[];
}

export function resolvePath(pattern: string, { place }: Pick<CommandFrame, 'place'>): Path {
  if (pattern.startsWith('/')) return normalize(pattern, true);
  if (pattern.startsWith(unknown) || place.folder === undefined) return normalize(pattern, false);
  return normalize(`${place.folder}/${pattern}`, true);
}

function normalize(pattern: string, rooted: boolean): Path {
  const parts: string[] = [];
  for (const part of pattern.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  // `/proc/self/root/…` is the root folder again.
  const [top, , link, ...rest] = parts;
  return { rooted, parts: rooted && top === 'proc' && link === 'root' ? rest : parts };
}
