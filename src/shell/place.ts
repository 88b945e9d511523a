import { unknown } from './frame.ts';
import { isWideGlob, matchesGlob } from './glob.ts';
import type { Path } from './paths.ts';

/** A protected path. `*` matches any one part, a trailing `**` everything below. */
export interface ProtectedPath {
  readonly name: string;
  readonly parts: readonly string[];
  readonly open: boolean;
}

/** A table of protected paths, written as words. */
export function readPlaces(words: string): ProtectedPath[] {
  return words.split(' ').map(readPlace);
}

export function readPlace(name: string): ProtectedPath {
  const parts = name.split('/').filter((part) => part !== '');
  const open = parts.at(-1) === '**';
  return { name: name.replace(/\/\*\*$/, ''), parts: open ? parts.slice(0, -1) : parts, open };
}

/** Whether the path may be the place. */
export function isAt(path: Path, place: ProtectedPath): boolean {
  return path.rooted && matches(path.parts, place);
}

/** Whether the path may be the place or everything directly in it. */
export function covers(path: Path, place: ProtectedPath): boolean {
  if (isAt(path, place)) return true;
  return path.rooted && isWideGlob(path.parts.at(-1) ?? '') && matches(path.parts.slice(0, -1), place);
}

/** Whether the path may be the place below a folder. */
export function isBelow(path: Path, folder: ProtectedPath, place: ProtectedPath): boolean {
  const depth = folder.parts.length;
  return (
    path.rooted && matches(path.parts.slice(0, depth), folder) && matches(path.parts.slice(depth), place)
  );
}

/** For a path in an unknown folder: whether the place occurs in it. */
export function mentions(path: Path, place: ProtectedPath): boolean {
  return path.parts.some((_, start) =>
    place.parts.every((name, index) => path.parts[start + index] === name),
  );
}

function matches(parts: readonly string[], place: ProtectedPath): boolean {
  const wanted = place.parts;
  if (place.open ? parts.length < wanted.length : parts.length !== wanted.length) return false;
  return wanted.every((name, index) => partMatches(parts[index] ?? '', name));
}

/** A glob matches a name that starts with a dot only if it contains that dot. */
function partMatches(part: string, name: string): boolean {
  if (name === '*') return part !== '';
  if (part.includes(unknown) || !matchesGlob(part, name)) return false;
  return !name.startsWith('.') || part.startsWith('.') || part.startsWith('[');
}
