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

/** The address that an old one leads to now; undefined if it is current. */
export function currentAddress([place = '', ...rest]: readonly string[]): readonly string[] | undefined {
  const [first, second] = rest;
  switch (place) {
    case 'agents':
    case 'chats':
      return ['chat', ...rest];
    case 'approvals':
      return ['inbox', ...rest];
    case 'runs':
      if (first === 'contexts') return ['code', 'notebooks', ...rest.slice(1)];
      return second === undefined ? ['code', 'runs'] : ['code', 'runs', second];
    case 'memory':
      return ['knowledge', 'memory', ...rest];
    case 'solve':
      return ['knowledge', 'solves', ...rest];
    case 'egress':
      return ['settings', 'egress'];
    case 'sandboxes': {
      const part = oldParts[second ?? ''];
      return part === undefined ? undefined : ['sandboxes', first ?? '', part, ...rest.slice(2)];
    }
    default:
      return undefined;
  }
}

const oldParts: Readonly<Record<string, string>> = {
  snapshots: 'timeline',
  ports: 'previews',
  events: 'log',
};

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
