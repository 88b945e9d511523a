import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

/** Hosts that a person allowed when a sandbox asked, for one sandbox or for all. */
export function Grants() {
  const grants = useQuery({ queryKey: ['egress', 'grants'], queryFn: () => client.egress.grants() });
  return (
    <Card title={text.egress.grants}>
      <Answer of={grants}>
        {(all) =>
          all.length === 0 ? (
            <Empty command="geode approvals ls --all">{text.egress.noGrants}</Empty>
          ) : (
            <ul>
              {all.map(({ host, port, sandboxId, grantedAt, until, approval }) => (
                <li key={approval} className="flex flex-wrap items-center gap-2 py-1">
                  <code className="min-w-0 break-all">
                    {nameText(host)}:{port}
                  </code>
                  <span className="flex-1 text-faint">
                    {sandboxId === null ? text.egress.forAll : text.egress.forOne}, {timeText(grantedAt)}
                    {until !== null && `, ${text.egress.until} ${timeText(until)}`}
                  </span>
                  <ActionButton kind="button-bad" act={() => client.egress.removeGrant({ host, port })}>
                    {text.egress.takeBack}
                  </ActionButton>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}
