/** How methods and paths of rules apply to a request whose path a server may read in several ways. */
import type { EgressRule } from '../../seams/egress.ts';
import { isPlainPath, readingsOf, readTarget } from '../proxy/request-target.ts';

type HttpRule = Pick<EgressRule, 'methods' | 'paths' | 'inspect'>;

interface HttpRequest {
  readonly method: string;
  readonly path: string;
}

/**
 * An allow rule applies when every reading of the path matches it. A connection whose requests cannot be seen passes
 * only by a rule that says nothing about requests.
 */
export function allowsHttp({ methods, paths, inspect }: HttpRule, http: HttpRequest | undefined): boolean {
  if (http === undefined) return methods === undefined && paths === undefined && inspect !== true;
  if (methods !== undefined && !methods.includes(http.method)) return false;
  return paths === undefined || allowsPath(paths, http.path);
}

/** A deny rule applies when any reading of the path matches it, or when the path cannot be judged. */
export function deniesHttp({ methods, paths }: HttpRule, http: HttpRequest): boolean {
  if (methods !== undefined && !methods.includes(http.method)) return false;
  return paths === undefined || deniesPath(paths, http.path);
}

function allowsPath(paths: readonly string[], whole: string): boolean {
  const target = readTarget(whole);
  if ('problem' in target || !isPlainPath(target.path)) return false;
  const readings = readingsOf(target.path);
  if (readings === undefined) return false;
  return paths.some((wanted) => {
    if (!matches(wanted, target.path)) return false;
    const spellings = [...(readingsOf(wanted) ?? [wanted])];
    return [...readings].every((reading) => spellings.some((spelling) => matches(spelling, reading)));
  });
}

/** Case is folded too: some servers take no notice of it. */
function deniesPath(paths: readonly string[], whole: string): boolean {
  const target = readTarget(whole);
  const readings = 'problem' in target ? undefined : readingsOf(target.path);
  if (readings === undefined) return true;
  const seen = new Set([...readings].map(folded).flatMap(withAndWithoutSlash));
  if ([...seen].some((reading) => shortName.test(reading))) return true;
  return paths.some((wanted) =>
    [...(readingsOf(wanted) ?? [wanted])]
      .map(folded)
      .some((spelling) => [...seen].some((reading) => matches(spelling, reading))),
  );
}

/** Many servers give the same page with and without the slash at the end. */
function withAndWithoutSlash(path: string): readonly string[] {
  return [path, path.endsWith('/') ? path.replace(/(?<=.)\/$/, '') : `${path}/`];
}

/** `ADMINI~1`: on some disks of Windows the second name of a file whose first one it does not show. */
const shortName = /\/[^/~]{1,7}~\d{1,6}(\.[^/.]{0,3})?(\/|$)/;

/** In both directions: some letters that are not ASCII have an ASCII letter as their capital (`ı`, `I`). */
function folded(path: string): string {
  return path.toUpperCase().toLowerCase();
}

/** A star at the end stands for the rest of the path. */
function matches(wanted: string, path: string): boolean {
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted;
}
