import { useQuery } from '@tanstack/react-query';
import { ChevronDown, ChevronRight, File } from 'lucide-react';
import { useState } from 'react';
import type { FileFacts } from '../../../src/seams/files.ts';
import { client } from '../api.ts';
import { pathTo } from '../route.ts';
import { bytesText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Answer } from '../ui/query.tsx';

const mostEntries = 500;
const mostFound = 200;

interface Tree {
  readonly chat: string;
  readonly shown: string | undefined;
  readonly base: readonly string[];
}

/** Folders that open, or the files whose path has the words. */
export function FileTree(tree: Tree) {
  const [words, setWords] = useState('');
  return (
    <>
      <input
        type="search"
        className="input my-1 w-full"
        aria-label={text.files.search}
        placeholder={text.files.search}
        value={words}
        onChange={({ target }) => setWords(target.value)}
      />
      {words.trim() === '' ? (
        <Folder {...tree} path="" />
      ) : (
        <Found {...tree} words={words.trim().toLowerCase()} />
      )}
    </>
  );
}

function Found({ words, ...tree }: Tree & { readonly words: string }) {
  const files = useQuery({
    queryKey: ['sandbox', tree.chat, 'files', 'all'],
    queryFn: () => client.sandboxes.of(tree.chat).files.list('.', { depth: 20, limit: 5000 }),
  });
  return (
    <Answer of={files}>
      {({ entries }) => {
        const found = entries.filter(
          ({ name, type }) => type !== 'directory' && name.toLowerCase().includes(words),
        );
        return found.length === 0 ? (
          <p className="px-2 py-1 text-muted">{text.files.notFound}</p>
        ) : (
          <ul>
            {found.slice(0, mostFound).map((entry) => (
              <li key={entry.name}>
                <FileLink {...tree} entry={entry} path={entry.name} name={entry.name} />
              </li>
            ))}
          </ul>
        );
      }}
    </Answer>
  );
}

function Folder({ path, ...tree }: Tree & { readonly path: string }) {
  const listing = useQuery({
    queryKey: ['sandbox', tree.chat, 'files', path],
    queryFn: () => client.sandboxes.of(tree.chat).files.list(path || '.', { depth: 1, limit: mostEntries }),
  });
  return (
    <Answer of={listing}>
      {({ entries, truncated }) =>
        entries.length === 0 ? (
          <p className="px-2 py-1 text-muted">{path === '' ? text.files.empty : text.files.emptyFolder}</p>
        ) : (
          <>
            <ul className={path === '' ? '' : 'pl-3'}>
              {[...entries].sort(foldersFirst).map((entry) => (
                <li key={entry.name}>
                  <Entry {...tree} entry={entry} path={path === '' ? entry.name : `${path}/${entry.name}`} />
                </li>
              ))}
            </ul>
            {truncated && <p className="px-2 text-faint">{text.files.truncated}</p>}
          </>
        )
      }
    </Answer>
  );
}

interface EntryShown extends Tree {
  readonly entry: FileFacts;
  readonly path: string;
}

function Entry({ entry, path, ...tree }: EntryShown) {
  const [isOpen, setOpen] = useState(tree.shown?.startsWith(`${path}/`) ?? false);
  if (entry.type !== 'directory') return <FileLink {...tree} entry={entry} path={path} name={entry.name} />;
  const Icon = isOpen ? ChevronDown : ChevronRight;
  return (
    <>
      <button
        type="button"
        aria-expanded={isOpen}
        className="row-link w-full text-left"
        onClick={() => setOpen(!isOpen)}
      >
        <Icon aria-hidden size={14} strokeWidth={1.75} className="shrink-0 text-muted" />
        <span className="min-w-0 truncate">{nameText(entry.name)}</span>
      </button>
      {isOpen && <Folder {...tree} path={path} />}
    </>
  );
}

function FileLink({ entry, path, name, base, shown }: EntryShown & { readonly name: string }) {
  return (
    <a
      className="row-link"
      href={`#${pathTo(...base, 'files', path)}`}
      aria-current={path === shown ? 'page' : undefined}
    >
      <File aria-hidden size={14} strokeWidth={1.75} className="shrink-0 text-muted" />
      <span className="min-w-0 flex-1 truncate">{nameText(name)}</span>
      <span className="figures shrink-0 text-sm text-faint">{bytesText(entry.size)}</span>
    </a>
  );
}

function foldersFirst(a: FileFacts, b: FileFacts): number {
  const weight = ({ type }: FileFacts) => (type === 'directory' ? 0 : 1);
  return weight(a) - weight(b) || a.name.localeCompare(b.name);
}
