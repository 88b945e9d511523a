import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Problem } from './problem.tsx';

/** A form whose fields come as text; it is emptied when what it asks for was done. */
export function ActionForm({
  act,
  submit,
  children,
}: {
  readonly act: (fields: Readonly<Record<string, string>>) => Promise<unknown>;
  readonly submit: string;
  readonly children: ReactNode;
}) {
  const queries = useQueryClient();
  const mutation = useMutation({ mutationFn: act, onSettled: () => queries.invalidateQueries() });
  return (
    <form
      className="flex flex-col gap-2"
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
