import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Problem } from './problem.tsx';

/** A form whose fields come as text; it is emptied when its act is done. */
export function ActionForm({
  act,
  submit,
  isRow = false,
  children,
}: {
  readonly act: (fields: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly submit: string;
  /** One field with its button beside it. */
  readonly isRow?: boolean;
  readonly children: ReactNode;
}) {
  const queries = useQueryClient();
  const mutation = useMutation({ mutationFn: act, onSettled: () => queries.invalidateQueries() });
  return (
    <form
      className={isRow ? 'flex flex-wrap items-end gap-2' : 'flex flex-col gap-3'}
      onSubmit={(event) => {
        event.preventDefault();
        if (mutation.isPending) return;
        const form = event.currentTarget;
        const fields = Object.fromEntries(
          [...new FormData(form)].map(([name, value]) => [name, typeof value === 'string' ? value : '']),
        );
        mutation.mutate(fields, { onSuccess: () => form.reset() });
      }}
    >
      {children}
      <div>
        <button type="submit" className="button button-main" disabled={mutation.isPending}>
          {submit}
        </button>
      </div>
      {mutation.error && <Problem error={mutation.error} />}
    </form>
  );
}
