import { isGeodeError } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { saveAs } from '../save-as.ts';

/** All of a chat as JSON: what was written, and every step of its agent with tools, files and cost. */
export async function exportChat(chat: string): Promise<void> {
  const messages = await Array.fromAsync(client.chats.events(chat, { follow: false }));
  const steps = await Array.fromAsync(client.agents.events(chat, { follow: false })).catch((error) => {
    if (isGeodeError(error, 'agent_not_found')) return [];
    throw error;
  });
  const exported = JSON.stringify({ chat, messages, steps }, null, 2);
  saveAs(`${chat}.json`, [exported], 'application/json');
}
