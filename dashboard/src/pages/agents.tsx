import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type AgentEvent, driverNames } from '../agent-events.ts';
import { AgentTranscript } from '../agent-transcript.tsx';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { agoText, costText, nameText } from '../shown.ts';
import { text } from '../text.ts';
import { Badge, stateTone } from '../ui/badge.tsx';
import { ActionButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Choice, MessageArea, TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Answer } from '../ui/query.tsx';

export function AgentsPage({ chat }: { readonly chat: string | undefined }) {
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => client.agents.list() });
  return (
    <div className="flex flex-col gap-4">
      <h1>{text.agents.title}</h1>
      {chat !== undefined && <Conversation key={chat} chat={chat} />}
      <Card title={text.agents.list}>
        <Answer of={agents}>
          {(all) =>
            all.length === 0 ? (
              <Empty>{text.agents.none}</Empty>
            ) : (
              <ul>
                {all.map(({ chat: name, driver, state, turns, cost, activeAt }) => (
                  <li key={name} className="flex flex-wrap items-center gap-2 border-b border-line py-1.5">
                    <a className="min-w-0 flex-1 truncate" href={`#${pathTo('agents', name)}`}>
                      {nameText(name)}
                    </a>
                    <Badge>{driver}</Badge>
                    <Badge tone={stateTone(state)}>{state}</Badge>
                    <span className="text-faint">
                      {text.agents.turns(turns)}, {costText(cost)}, {agoText(activeAt)}
                    </span>
                  </li>
                ))}
              </ul>
            )
          }
        </Answer>
      </Card>
      <Card title={text.agents.begin}>
        <ActionForm
          submit={text.agents.send}
          act={async ({ name = '', message = '', driver = '' }) => {
            const known = driverNames.find((each) => each === driver);
            await begun(client.agents.send(name, { text: message }, known ? { driver: known } : {}));
            goTo('agents', name);
          }}
        >
          <TextField label={text.agents.chat} name="name" required />
          <Choice label={text.agents.driver} name="driver" options={[text.agents.usual, ...driverNames]} />
          <MessageArea label={text.agents.message} name="message" required />
        </ActionForm>
      </Card>
    </div>
  );
}

/** The turn belongs to the host: its first event says that it runs, and the rest is followed elsewhere. */
async function begun(events: AsyncGenerator<AgentEvent>): Promise<void> {
  for await (const _ of events) return;
}

function Conversation({ chat }: { readonly chat: string }) {
  const queries = useQueryClient();
  const agent = useQuery({ queryKey: ['agents', chat], queryFn: () => client.agents.get(chat) });
  const isRunning = agent.data?.state === 'running';
  return (
    <Card
      title={nameText(chat)}
      side={
        <span className="flex gap-2">
          {isRunning && (
            <ActionButton kind="button-bad" act={() => client.agents.interrupt(chat)}>
              {text.agents.interrupt}
            </ActionButton>
          )}
          <a className="button" href={`#${pathTo('sandboxes', chat)}`}>
            {text.agents.sandbox}
          </a>
        </span>
      }
    >
      {agent.data === undefined ? <Empty>{text.agents.quiet}</Empty> : <AgentTranscript chat={chat} />}
      <ActionForm
        submit={text.agents.send}
        act={async ({ message = '' }) => {
          await begun(client.agents.send(chat, { text: message }));
          await queries.invalidateQueries({ queryKey: ['agents'] });
        }}
      >
        <MessageArea label={text.agents.message} name="message" required />
      </ActionForm>
    </Card>
  );
}
