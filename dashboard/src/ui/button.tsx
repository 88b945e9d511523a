import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ComponentProps, useState } from 'react';
import { text } from '../text.ts';
import { Modal } from './modal.tsx';
import { Problem } from './problem.tsx';

/** Does one thing; while it is under way it cannot be pressed again, and a refusal is shown beside it. */
export function ActionButton({
  act,
  ask,
  kind = '',
  word,
  ...button
}: {
  readonly act: () => Promise<unknown>;
  /** Asked first, where the act cannot be undone. */
  readonly ask?: string;
  readonly kind?: '' | 'button-main' | 'button-bad';
  /** The act in words, for a button that shows only an icon. */
  readonly word?: string;
} & ComponentProps<'button'>) {
  const [isAsking, setAsking] = useState(false);
  const queries = useQueryClient();
  const mutation = useMutation({
    mutationFn: act,
    onSettled: () => queries.invalidateQueries(),
    onSuccess: () => setAsking(false),
  });
  const press = () => (ask === undefined ? mutation.mutate() : setAsking(true));
  return (
    <>
      <button
        type="button"
        className={`button ${kind}`}
        disabled={mutation.isPending}
        onClick={press}
        {...button}
      />
      {!isAsking && mutation.error && <Problem error={mutation.error} />}
      {isAsking && ask !== undefined && (
        <Modal title={ask} onClose={() => setAsking(false)}>
          <p className="text-faint">{text.actions.sure}</p>
          {mutation.error && <Problem error={mutation.error} />}
          <div className="mt-3 flex justify-end gap-2">
            <button type="button" className="button" onClick={() => setAsking(false)}>
              {text.actions.cancel}
            </button>
            <button
              type="button"
              className="button button-bad"
              disabled={mutation.isPending}
              onClick={() => mutation.mutate()}
            >
              {word ?? button.children}
            </button>
          </div>
        </Modal>
      )}
    </>
  );
}
