import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { text } from '../text.ts';
import { Problem } from './problem.tsx';

/** The answer of a query, or the reason why there is none. An answer stays while a newer one is fetched. */
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
