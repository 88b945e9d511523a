import type { GeodeClient } from '../client/client.ts';
import type { AgentEvent, AgentMessage } from '../seams/agent.ts';
import { type CliContext, text } from './command.ts';
import { showAgent } from './render/show-agent.ts';

interface TurnOptions extends Pick<AgentMessage, 'unattended'> {
  readonly through?: (events: AsyncIterable<AgentEvent>) => AsyncIterable<AgentEvent>;
}

/** One turn of Claude Code, shown as it happens. */
export async function oneTurn(
  { agents }: GeodeClient,
  chat: string,
  prompt: string,
  context: CliContext,
  { unattended, through = (events) => events }: TurnOptions = {},
): Promise<number> {
  const { values, signal } = context;
  const options = { driver: 'claude', model: text(values, 'model'), signal } as const;
  try {
    return await showAgent(through(agents.send(chat, { text: prompt, unattended }, options)), context);
  } catch (error) {
    // Ctrl-C stops the agent, not only this reader.
    if (signal.aborted) await agents.interrupt(chat).catch(() => {});
    throw error;
  }
}
