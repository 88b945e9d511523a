import type { Incoming } from '../../../seams/channel.ts';
import { commandMenu } from '../../commands.ts';
import { type DiscordInteraction, pressed } from './events.ts';
import type { DiscordRest } from './rest.ts';

const longestDescription = 100;
const chatInput = 1;
const textOption = 3;
/** In servers and in private chats with the bot. */
const contexts = [0, 1];
/** Shown to the person alone. */
const ephemeral = 64;

/** Replaces Discord's list of commands by the commands of chats. */
export async function listCommands(
  rest: DiscordRest,
  application: string,
  signal: AbortSignal,
): Promise<void> {
  const json = commandMenu().map(({ command, usage, description }) => ({
    name: command,
    description: description.slice(0, longestDescription),
    type: chatInput,
    contexts,
    ...(usage.includes(' ') && {
      options: [{ type: textOption, name: 'text', description: usage.slice(0, longestDescription) }],
    }),
  }));
  await rest.call('PUT', `/applications/${application}/commands`, { json, timeoutMs: 15_000, signal });
}

/** A command that a person chose from the list, as the message that says the same. */
export function chosenCommand(interaction: DiscordInteraction): Incoming | undefined {
  const { data, id } = interaction;
  if (data?.name === undefined) return undefined;
  const values = data.options.map(({ value }) => ` ${value ?? ''}`).join('');
  const incoming = pressed(interaction, `/${data.name}${values}`.trimEnd());
  return incoming && { ...incoming, id: `command/${id}` };
}

/** Discord shows a command as failed unless it is answered within three seconds. */
export function acceptedCommand({ text }: Incoming): object {
  return { type: 4, data: { content: text, flags: ephemeral, allowed_mentions: { parse: [] } } };
}
