import { type ReactNode, useId } from 'react';

export function Card({
  title,
  side,
  children,
}: {
  readonly title: string;
  /** Beside the title. */
  readonly side?: ReactNode;
  readonly children: ReactNode;
}) {
  const id = useId();
  return (
    <section className="card min-w-0" aria-labelledby={id}>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h2 id={id}>{title}</h2>
        {side}
      </div>
      {children}
    </section>
  );
}

/** Where there is nothing yet: what to do next. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return <div className="py-2 text-faint">{children}</div>;
}
