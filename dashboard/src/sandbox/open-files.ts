import { useEffect, useState } from 'react';

const mostOpen = 12;
const nameOf = (chat: string) => `geode-files-${chat}`;

/** The files that have a tab in this browser tab; the one that is shown has one too. */
export function useOpenFiles(chat: string, shown: string | undefined) {
  const [kept, setKept] = useState(() => load(chat));
  const isMissing = shown !== undefined && !kept.includes(shown);
  const open = isMissing ? [...kept, shown].slice(-mostOpen) : kept;
  useEffect(() => {
    if (isMissing) setKept(open);
    sessionStorage.setItem(nameOf(chat), JSON.stringify(open));
  }, [chat, isMissing, open]);
  return { open, close: (path: string) => setKept(open.filter((each) => each !== path)) };
}

function load(chat: string): readonly string[] {
  const found: unknown = JSON.parse(sessionStorage.getItem(nameOf(chat)) ?? '[]');
  return Array.isArray(found) ? found.map(String) : [];
}
