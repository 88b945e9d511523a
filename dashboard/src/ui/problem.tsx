import { isGeodeError } from '../../../src/client/client.ts';
import { text } from '../text.ts';

/** A refusal with its code and its next step. */
export function Problem({ error }: { readonly error: unknown }) {
  const message = error instanceof Error ? error.message : String(error);
  return (
    <div role="alert" className="rounded-md border border-bad p-3">
      <p className="text-bad break-words">{message}</p>
      {isGeodeError(error) && (
        <p className="mt-1 break-words text-faint">
          {text.problem.code}: <code>{error.code}</code>. {text.problem.hint}: {error.hint}
        </p>
      )}
    </div>
  );
}
