import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';

/** Services that a sandbox can reach with a key that is added outside of it. */
export function Bindings() {
  const bindings = useQuery({ queryKey: ['egress', 'bindings'], queryFn: () => client.egress.bindings() });
  return (
    <Card title={text.egress.bindings}>
      <Answer of={bindings}>
        {(all) => (
          <ul>
            {all.map(({ name, upstream, ready }) => (
              <li key={name} className="flex flex-wrap items-center gap-2 py-1">
                <code>{nameText(name)}</code>
                <span className="min-w-0 flex-1 truncate text-faint">{upstream}</span>
                <Badge tone={ready ? 'good' : 'plain'}>
                  {ready ? text.egress.ready : text.egress.needsSecret}
                </Badge>
              </li>
            ))}
          </ul>
        )}
      </Answer>
    </Card>
  );
}
