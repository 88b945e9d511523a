import { useQuery } from '@tanstack/react-query';
import { client } from '../api.ts';
import { costText, nameText, timeText } from '../shown.ts';
import { text } from '../text.ts';
import { contextOf, driverText } from './agent-events.ts';
import { useAgentEvents } from './follow-agent.ts';

/** The cost and tokens of the conversation so far. */
export function ChatCost({ chat }: { readonly chat: string }) {
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => client.agents.list() });
  const agent = agents.data?.find((each) => each.chat === chat);
  const events = useAgentEvents(chat, agent !== undefined);
  if (agent === undefined) return <p className="text-muted">{text.chat.noTurns}</p>;
  const used = events.flatMap((event) => (event.type === 'usage' ? [event] : []));
  const sum = (name: 'inputTokens' | 'cachedTokens' | 'outputTokens') =>
    used.reduce((total, { usage }) => total + usage[name], 0);
  const context = contextOf(events);
  const model = agent.model ?? used.at(-1)?.model;
  return (
    <div className="flex flex-col gap-3">
      <p className="figures text-figure font-semibold">{costText(agent.cost)}</p>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        <dt className="text-muted">{text.chat.driver}</dt>
        <dd>{driverText(agent.driver)}</dd>
        {model !== undefined && (
          <>
            <dt className="text-muted">{text.chat.model}</dt>
            <dd className="break-words">{nameText(model)}</dd>
          </>
        )}
        <dt className="text-muted">{text.chat.conversation}</dt>
        <dd className="figures">{text.chat.turns(agent.turns)}</dd>
        {context !== undefined && (
          <>
            <dt className="text-muted" title={text.talk.contextHow}>
              {text.talk.contextNow}
            </dt>
            <dd className="figures">{text.talk.context(context.toLocaleString())}</dd>
          </>
        )}
        <dt className="text-muted">{text.chat.tokensRead}</dt>
        <dd className="figures">{sum('inputTokens').toLocaleString()}</dd>
        <dt className="text-muted">{text.chat.tokensCached}</dt>
        <dd className="figures">{sum('cachedTokens').toLocaleString()}</dd>
        <dt className="text-muted">{text.chat.tokensWritten}</dt>
        <dd className="figures">{sum('outputTokens').toLocaleString()}</dd>
        <dt className="text-muted">{text.sandboxes.created}</dt>
        <dd>{timeText(agent.createdAt)}</dd>
      </dl>
    </div>
  );
}
