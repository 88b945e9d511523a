import type { LucideIcon } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import { Command } from './command.tsx';

export function Card({
  title,
  side,
  isFlush = false,
  children,
}: {
  readonly title: string;
  /** Beside the title. */
  readonly side?: ReactNode;
  /** The rows inside reach to the edge. */
  readonly isFlush?: boolean;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <section
      className="min-w-0 overflow-hidden rounded-card border border-line bg-surface"
      aria-labelledby={id}
    >
      <div className="flex min-h-10 flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b border-line px-4 py-1.5">
        <h2 id={id} className="min-w-0 break-words">
          {title}
        </h2>
        {side}
      </div>
      <div className={isFlush ? '' : 'p-4'}>{children}</div>
    </section>
  );
}

/** A part that has nothing yet: one sentence, and the next step, also as a command where there is one. */
export function Empty({ children, command }: { readonly children: ReactNode; readonly command?: string }) {
  return (
    <div className="flex flex-col items-start gap-2 py-2 text-muted">
      <div>{children}</div>
      {command !== undefined && <Command line={command} />}
    </div>
  );
}

/** A whole page or card without content: what belongs here, one action, and the same as a command. */
export function EmptyPlace({
  icon: Icon,
  title,
  children,
  action,
  command,
}: {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
  readonly command?: string;
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-8 text-center">
      <Icon aria-hidden size={20} strokeWidth={1.75} className="text-muted" />
      <p className="font-semibold">{title}</p>
      <p className="max-w-96 text-muted">{children}</p>
      {action}
      {command !== undefined && <Command line={command} />}
    </div>
  );
}
