import { useQuery } from '@tanstack/react-query';
import type { Approval } from '../../../src/seams/approval.ts';
import { client } from '../api.ts';

/** The questions that wait for a person now. */
export function useOpenApprovals(): readonly Approval[] {
  const open = useQuery({ queryKey: ['approvals', 'open'], queryFn: () => client.approvals.list() });
  return open.data ?? [];
}
