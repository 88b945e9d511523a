/** Addresses of pages are behind the `#`: they work under any path, and no server sees them. */
import { useHashLocation } from 'wouter/use-hash-location';

/** The parts of the address, decoded: `#/sandboxes/demo/files` is `['sandboxes', 'demo', 'files']`. */
export function useRoute(): readonly string[] {
  const [path] = useHashLocation();
  return routeOf(path);
}

export function routeOf(path: string): readonly string[] {
  return path.split('/').filter(Boolean).map(decoded);
}

export function pathTo(...parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

export function goTo(...parts: readonly string[]): void {
  location.hash = pathTo(...parts);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
