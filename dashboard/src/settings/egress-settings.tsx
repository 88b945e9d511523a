import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { EgressLog } from '../egress-log.tsx';
import { ruleText } from '../sandbox/egress.tsx';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { Command } from '../ui/command.tsx';
import { Answer } from '../ui/query.tsx';
import { Grants } from './grants.tsx';

export function EgressSettings() {
  return (
    <>
      <Default />
      <Grants />
      <Card title={text.egress.log} isFlush>
        <EgressLog />
      </Card>
      <Command line="geode egress default" />
    </>
  );
}

/** The policy of new sandboxes and runs. */
function Default() {
  const found = useQuery({ queryKey: ['egress', 'default'], queryFn: () => client.egress.default() });
  return (
    <Card title={text.egress.forNew}>
      <Answer of={found}>
        {({ policy: { mode, allow } }) => (
          <div className="flex flex-wrap items-center gap-3">
            <p className="min-w-0 flex-1">
              {text.egress.modes[mode]}
              {allow.length > 0 && (
                <span className="block break-words text-muted">
                  {text.egress.allowed}: {allow.map(ruleText).join(', ')}
                </span>
              )}
            </p>
            <ActionButton ask={text.egress.resetAsk} act={() => client.egress.clearDefault()}>
              {text.egress.reset}
            </ActionButton>
          </div>
        )}
      </Answer>
    </Card>
  );
}
