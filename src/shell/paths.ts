import { asPattern, type Field, quoted } from './field.ts';
import { type Frame, folder } from './frame.ts';
import { hasUnknown } from './unknowns.ts';

/**
 * A path in parts, each a shell pattern, after `//`, `.` and `..` are resolved.
 * `rooted` is false where it starts in a folder that only running would tell.
 */
export interface Path {
  readonly rooted: boolean;
  readonly parts: readonly string[];
}

export function resolvePath(field: Field, frame: Frame): Path {
  const { pattern } = field;
  const startsUnknown = hasUnknown(pattern.charAt(0));
  const start = pattern.startsWith('/') || startsUnknown ? '' : folder(frame).pattern;
  const path = normalize(`${start}/${pattern}`, !startsUnknown && !hasUnknown(start.charAt(0)));
  return frame.inspection.links.size === 0 ? path : throughLinks(path, frame.inspection.links);
}

const mostLinks = 8;

/** Follows the links on the way; the last part itself stays a link. */
function throughLinks(path: Path, links: ReadonlyMap<string, string>): Path {
  let { parts } = path;
  for (let followed = 0; path.rooted && followed < mostLinks; followed++) {
    const depth = parts.findIndex((_, index) => index > 0 && links.has(parts.slice(0, index).join('/')));
    if (depth < 0) break;
    const target = links.get(parts.slice(0, depth).join('/')) ?? '';
    parts = [...target.split('/').filter((part) => part !== ''), ...parts.slice(depth)];
  }
  return { rooted: path.rooted, parts };
}

/** The name under which a file that the command writes is remembered; a name of one unknown stays as it is. */
export function fileKey(field: Field, frame: Frame): string {
  if (field.text.length === 1 && hasUnknown(field.text)) return field.text;
  const path = resolvePath(quoted(field.text), frame);
  return `${path.rooted ? '/' : ''}${path.parts.join('/')}`;
}

/** The path that a relative one means in a folder. */
export function joinFolder(from: Field, to: Field): Field {
  if (hasUnknown(to.pattern.charAt(0))) return to;
  const isAbsolute = to.pattern.startsWith('/');
  const { parts } = normalize(isAbsolute ? to.pattern : `${from.pattern}/${to.pattern}`, true);
  const startsUnknown = !isAbsolute && hasUnknown(from.pattern.charAt(0));
  return asPattern(`${startsUnknown ? '' : '/'}${parts.join('/')}`);
}

function normalize(pattern: string, rooted: boolean): Path {
  const parts: string[] = [];
  let known = rooted;
  for (const part of pattern.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') {
      parts.push(part);
    } else if (parts.length > 0) {
      // Above an unknown part lies an unknown folder.
      if (hasUnknown(parts.pop() ?? '')) known = known && parts.length > 0;
    }
  }
  return throughProc({ rooted: known, parts });
}

/** `/proc/self/root/…` is the root folder again. */
function throughProc(path: Path): Path {
  const [top, , link, ...rest] = path.parts;
  return path.rooted && top === 'proc' && link === 'root' ? { rooted: true, parts: rest } : path;
}
