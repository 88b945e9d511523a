/** Until when each chat was seen in this browser, for the marks of unread chats. */

const storageName = 'geode-seen';
const mostKept = 500;

type Marks = Readonly<Record<string, number>>;

let marks: Marks = load();
const viewers = new Set<() => void>();

export function readMarks(): Marks {
  return marks;
}

export function seenAt(viewer: () => void): () => void {
  viewers.add(viewer);
  return () => viewers.delete(viewer);
}

export function markSeen(chat: string): void {
  const entries = Object.entries({ ...marks, [chat]: Date.now() }).sort(([, a], [, b]) => b - a);
  marks = Object.fromEntries(entries.slice(0, mostKept));
  localStorage.setItem(storageName, JSON.stringify(marks));
  for (const viewer of viewers) viewer();
}

function load(): Marks {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageName) ?? '{}');
    if (typeof kept !== 'object' || kept === null) return {};
    return Object.fromEntries(
      Object.entries(kept).filter((each): each is [string, number] => typeof each[1] === 'number'),
    );
  } catch {
    return {};
  }
}
