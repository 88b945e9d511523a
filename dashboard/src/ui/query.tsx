import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { text } from '../text.ts';
import { Problem } from './problem.tsx';

/** What a question answered, or why it did not. An answer that is there stays while a newer one is fetched. */
export function Answer<T>({
  of,
  children,
}: {
  readonly of: UseQueryResult<T>;
  readonly children: (value: T) => ReactNode;
}) {
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (of.error) return <Problem error={of.error} />;
  return <p className="text-faint">{text.loading}</p>;
}
