import { client } from '../api.ts';
import { saveAs } from '../save-as.ts';

/** All of a chat as JSON: what was written, and every turn of its agent with tools and cost. */
export async function exportChat(chat: string): Promise<void> {
  const records = await Array.fromAsync(client.chats.export(chat));
  saveAs(`${chat}.json`, [JSON.stringify({ chat, records }, null, 2)], 'application/json');
}
