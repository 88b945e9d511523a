import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { costText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge } from '../ui/badge.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Answer } from '../ui/query.tsx';
import { useModel } from '../use-model.ts';
import ConnectModel from './connect-model.tsx';

/** The model that agents use, and the use of today. */
export function Models() {
  const model = useModel();
  return (
    <>
      <Card title={text.settings.usualModel}>
        {model !== undefined && (
          <p className="mb-3">
            <Badge tone="good">{nameText(model)}</Badge>
          </p>
        )}
        <ConnectModel />
      </Card>
      <UsageToday />
    </>
  );
}

function UsageToday() {
  const usage = useQuery({ queryKey: ['egress', 'usage'], queryFn: () => client.egress.usage() });
  return (
    <Card title={text.egress.usage}>
      <Answer of={usage}>
        {({ usage: rows }) =>
          rows.length === 0 ? (
            <Empty command="geode egress usage">{text.egress.noUsage}</Empty>
          ) : (
            <ul>
              {rows.map(({ binding, model, calls, inputTokens, outputTokens, costUsd }) => (
                <li key={`${binding} ${model}`}>
                  {nameText(binding)}/{nameText(model)}: {text.egress.used(calls, inputTokens, outputTokens)},{' '}
                  {costText(costUsd)}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Card>
  );
}
