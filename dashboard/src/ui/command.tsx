import { nameText } from '../shown.ts';
import { CopyButton } from './copy.tsx';

/** A name as one word of a shell: a name may be hostile, and a person pastes the line without reading it. */
export function shellWord(name: string): string {
  return /^[\w.:@/-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

/** A command line for a terminal, to copy. */
export function Command({ line }: { readonly line: string }) {
  return (
    <div className="flex max-w-full min-w-0 items-center gap-2 rounded-control border border-line bg-sunken py-0.5 pr-1 pl-3">
      <code className="min-w-0 flex-1 text-left [overflow-wrap:anywhere]">{nameText(line)}</code>
      <CopyButton value={line} />
    </div>
  );
}
