import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { ApprovalList } from '../approval-list.tsx';
import { text } from '../text.ts';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

export function ApprovalsPage() {
  const open = useQuery({ queryKey: ['approvals', 'open'], queryFn: () => client.approvals.list() });
  const all = useQuery({
    queryKey: ['approvals', 'all'],
    queryFn: () => client.approvals.list({ state: 'all', limit: 50 }),
  });
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.approvals.title}</h1>
      <Answer of={open}>
        {(found) =>
          found.length === 0 ? <Empty>{text.approvals.none}</Empty> : <ApprovalList approvals={found} />
        }
      </Answer>
      <Card title={text.approvals.before}>
        <Answer of={all}>
          {(found) => {
            const decided = found.filter(({ state }) => state !== 'open');
            return decided.length === 0 ? (
              <Empty>{text.approvals.noneBefore}</Empty>
            ) : (
              <ApprovalList approvals={decided} />
            );
          }}
        </Answer>
      </Card>
    </div>
  );
}
