import { useQuery } from '@tanstack/react-query';
import { Inbox } from 'lucide-react';
import type { Approval } from '../../../src/seams/approval.ts';
import { client } from '../api.ts';
import type { PlaceProps } from '../page.tsx';
import { text } from '../text.ts';
import { Bar, Content } from '../ui/bar.tsx';
import { EmptyPlace } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { NotifyButton } from './notify-button.tsx';

export function InboxPage({ rest: [chosen] }: PlaceProps) {
  const open = useQuery({ queryKey: ['approvals', 'open'], queryFn: () => client.approvals.list() });
  const all = useQuery({
    queryKey: ['approvals', 'all'],
    queryFn: () => client.approvals.list({ state: 'all', limit: 50 }),
  });
  const decided = (all.data ?? []).filter(({ state }) => state !== 'open');
  return (
    <>
      <Bar title={text.nav.inbox}>
        <NotifyButton />
      </Bar>
      <Content width="max-w-[760px]">
        {chosen !== undefined && <Chosen id={chosen} />}
        <Answer of={open}>
          {(found) =>
            found.length === 0 ? (
              <EmptyPlace icon={Inbox} title={text.approvals.none} command="geode approvals ls">
                {text.approvals.noneHow}
              </EmptyPlace>
            ) : (
              <List approvals={found.filter(({ id }) => id !== chosen)} />
            )
          }
        </Answer>
        {decided.length > 0 && (
          <section>
            <h2 className="mb-2 text-sm font-medium text-faint">{text.approvals.before}</h2>
            <List approvals={decided} />
          </section>
        )}
      </Content>
    </>
  );
}

/** The one that a link leads to, whatever became of it. */
function Chosen({ id }: { readonly id: string }) {
  const found = useQuery({ queryKey: ['approvals', id], queryFn: () => client.approvals.get(id) });
  return <Answer of={found}>{(approval) => <ApprovalCard approval={approval} />}</Answer>;
}

function List({ approvals }: { readonly approvals: readonly Approval[] }) {
  return (
    <ul className="flex flex-col gap-3">
      {approvals.map((approval) => (
        <li key={approval.id}>
          <ApprovalCard approval={approval} />
        </li>
      ))}
    </ul>
  );
}
