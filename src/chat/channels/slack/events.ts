import { slackMrkdwnToMarkdown } from '@chat-adapter/slack/format';
import { z } from 'zod';
import type { Incoming } from '../../../seams/channel.ts';
import { commandIn } from '../../commands.ts';
import { fileName, personName } from '../names.ts';

const fileSchema = z.looseObject({
  id: z.string(),
  name: z.string().nullish(),
  size: z.number().optional(),
});

const writtenSchema = z.looseObject({
  ts: z.string(),
  user: z.string().optional(),
  text: z.string().default(''),
  bot_id: z.string().optional(),
  thread_ts: z.string().optional(),
  files: z.array(fileSchema).default([]),
  user_profile: z
    .looseObject({ display_name: z.string().optional(), real_name: z.string().optional() })
    .optional(),
  edited: z.looseObject({ ts: z.string() }).optional(),
});

export const messageSchema = writtenSchema.extend({
  type: z.enum(['message', 'app_mention']),
  subtype: z.string().optional(),
  channel: z.string(),
  channel_type: z.string().optional(),
  /** The new content of a changed message. */
  message: writtenSchema.optional(),
  previous_message: z.looseObject({ text: z.string().optional() }).optional(),
});
export type SlackMessage = z.infer<typeof messageSchema>;

export const actionsSchema = z.looseObject({
  type: z.literal('block_actions'),
  user: z.looseObject({ id: z.string(), name: z.string().optional(), username: z.string().optional() }),
  channel: z.looseObject({ id: z.string() }),
  container: z.looseObject({ thread_ts: z.string().optional() }).optional(),
  message: z.looseObject({ thread_ts: z.string().optional() }).optional(),
  actions: z.array(z.looseObject({ value: z.string().optional(), action_ts: z.string().optional() })).min(1),
  trigger_id: z.string().optional(),
});
export type SlackActions = z.infer<typeof actionsSchema>;

/** A new or changed message of a person; undefined for anything else. */
export function incomingOf(event: SlackMessage, botUser: string): Incoming | undefined {
  if (event.subtype === 'message_changed') return changed(event, botUser);
  if (event.subtype !== undefined && !['file_share', 'thread_broadcast'].includes(event.subtype))
    return undefined;
  return written(event, event, botUser);
}

/** Slack also reports a change when it has added a preview. */
function changed(event: SlackMessage, botUser: string): Incoming | undefined {
  const { message, previous_message: before } = event;
  if (message?.edited === undefined || message.text === before?.text) return undefined;
  const incoming = written(message, event, botUser);
  return (
    incoming && {
      ...incoming,
      id: `${incoming.id}/${message.edited.ts}`,
      replaces: incoming.id,
    }
  );
}

function written(
  message: z.infer<typeof writtenSchema>,
  { type, channel, channel_type: kind }: SlackMessage,
  botUser: string,
): Incoming | undefined {
  const { user, ts, text, files, bot_id: bot, user_profile: profile } = message;
  if (user === undefined || bot !== undefined || user === botUser) return undefined;
  // The ids of direct messages start with a D where the type is missing.
  const isGroup = kind === undefined ? !channel.startsWith('D') : kind !== 'im';
  const mention = `<@${botUser}>`;
  return {
    channel: 'slack',
    address: addressOf(channel, message.thread_ts),
    // Slack sends a mention twice, as two types of event.
    id: `${channel}/${ts}`,
    sender: { id: user, name: personName(profile?.display_name || profile?.real_name, user) },
    text: slackMrkdwnToMarkdown(text.replaceAll(mention, '')).trim(),
    files: files.map(({ id, name, size }) => ({
      name: fileName(name ?? 'file'),
      sizeBytes: size ?? null,
      reference: id,
    })),
    isGroup,
    isAddressed: !isGroup || type === 'app_mention' || text.includes(mention),
  };
}

/** A pressed button, as a message. */
export function pressed(actions: SlackActions): Incoming | undefined {
  const { user, channel, container, message, actions: given, trigger_id: trigger } = actions;
  const [action] = given;
  if (action?.value === undefined) return undefined;
  return {
    channel: 'slack',
    address: addressOf(channel.id, container?.thread_ts ?? message?.thread_ts),
    id: `button/${trigger ?? action.action_ts ?? ''}`,
    sender: { id: user.id, name: personName(user.name ?? user.username, user.id) },
    text: action.value,
    files: [],
    isGroup: !channel.id.startsWith('D'),
    isAddressed: true,
  };
}

export const commandSchema = z.looseObject({
  command: z.string(),
  text: z.string().default(''),
  channel_id: z.string(),
  user_id: z.string(),
  user_name: z.string().optional(),
  trigger_id: z.string(),
});

/**
 * A slash command, as a message. Slack keeps some names for itself and sends nothing unknown that begins with a slash, so
 * `/geode stop` means `/stop` and `/geode` alone `/help`. Slack has no slash commands in threads.
 */
export function commanded(given: z.infer<typeof commandSchema>): Incoming {
  const { command, text, channel_id: channel, user_id: user, user_name: name, trigger_id: trigger } = given;
  const words = text.trim();
  const isOwn = commandIn(command) !== undefined;
  const asCommand = `${isOwn ? `${command} ` : '/'}${words}`.trim();
  return {
    channel: 'slack',
    address: channel,
    id: `command/${trigger}`,
    sender: { id: user, name: personName(name, user) },
    text: words === '' && !isOwn ? '/help' : commandIn(asCommand) === undefined ? words : asCommand,
    files: [],
    isGroup: !channel.startsWith('D'),
    isAddressed: true,
  };
}

/** A thread is a place of its own. */
function addressOf(channel: string, thread: string | undefined): string {
  return thread === undefined ? channel : `${channel}/${thread}`;
}

export function placeIn(address: string): { readonly channel: string; readonly thread: string | undefined } {
  const [channel = '', thread] = address.split('/');
  return { channel, thread };
}
