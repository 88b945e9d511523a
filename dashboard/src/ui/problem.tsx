import { CircleAlert } from 'lucide-react';
import { isGeodeError } from '../../../src/client/client.ts';

/** A refusal with its next step. */
export function Problem({ error }: { readonly error: unknown }) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div role="alert" className="flex items-start gap-2 rounded-control bg-bad-soft p-2.5 text-bad">
      <CircleAlert aria-hidden size={16} strokeWidth={1.75} className="mt-0.5 shrink-0" />
      <div className="min-w-0">
        <p className="break-words">{message}</p>
        {isGeodeError(error) && <p className="break-words text-ink">{error.hint}</p>}
      </div>
    </div>
  );
}
