import type { WhatsAppAdapter, WhatsAppRawMessage } from '@chat-adapter/whatsapp';
import { z } from 'zod';
import type { Incoming } from '../../../seams/channel.ts';
import { fileName, personName } from '../names.ts';
import type { WhatsAppChange } from './webhook.ts';

const mediaSchema = z.looseObject({ id: z.string(), mime_type: z.string() });

/** Fields that the adapter needs. */
const shapeOfMessage = z.looseObject({
  id: z.string().min(1),
  type: z.string(),
  timestamp: z.string(),
  from: z.string().optional(),
  from_user_id: z.string().optional(),
  text: z.looseObject({ body: z.string() }).optional(),
  context: z
    .looseObject({ forwarded: z.boolean().optional(), frequently_forwarded: z.boolean().optional() })
    .optional(),
  interactive: z
    .looseObject({
      button_reply: z.looseObject({ id: z.string() }).optional(),
      list_reply: z.looseObject({ id: z.string() }).optional(),
    })
    .optional(),
  image: mediaSchema.optional(),
  document: mediaSchema.optional(),
  audio: mediaSchema.optional(),
  video: mediaSchema.optional(),
  voice: mediaSchema.optional(),
  sticker: mediaSchema.optional(),
});

const contextSchema = shapeOfMessage.pick({ context: true });

const messageSchema = z.custom<WhatsAppRawMessage['message']>(
  (value) => shapeOfMessage.safeParse(value).success,
);

/** `senseless` for an invalid message, undefined for one that no person wrote. */
export function incomingOf(
  adapter: WhatsAppAdapter,
  { metadata, contacts }: WhatsAppChange,
  given: unknown,
): Incoming | 'senseless' | undefined {
  const message = messageSchema.safeParse(given);
  if (!message.success) return 'senseless';
  const { id, type, from, from_user_id: user } = message.data;
  const person = from ?? user;
  if (person === undefined || ignored.includes(type)) return undefined;
  const contact = contacts.find(({ wa_id: phone, user_id: other }) => person === phone || person === other);
  const parsed = adapter.parseMessage({
    message: message.data,
    phoneNumberId: metadata.phone_number_id,
    userId: person,
  });
  const { context } = contextSchema.parse(message.data);
  const isUnreadable = unreadable.includes(type);
  return {
    channel: 'whatsapp',
    address: person,
    id,
    sender: { id: person, name: personName(contact?.profile?.name, person) },
    text: isUnreadable ? '' : (pressedIn(message.data) ?? captionOf(message.data) ?? parsed.text),
    isForwarded: context?.forwarded === true || context?.frequently_forwarded === true,
    unreadable: isUnreadable ? type.replace(/s$/, '') : undefined,
    files: isUnreadable
      ? []
      : parsed.attachments.flatMap(({ name, mimeType, type: kind, fetchMetadata }) => {
          const reference = fetchMetadata?.mediaId;
          const plain = name ?? `${kind}.${mimeType?.split(/[/;]/)[1] ?? 'bin'}`;
          return reference === undefined ? [] : [{ name: fileName(plain), sizeBytes: null, reference }];
        }),
    // The Cloud API has no groups.
    isGroup: false,
    isAddressed: true,
  };
}

const ignored = ['reaction', 'system', 'order', 'unsupported'];
const unreadable = ['sticker', 'contacts', 'location'];

/** A button carries the text that it sends. */
function pressedIn({ interactive }: WhatsAppRawMessage['message']): string | undefined {
  return interactive?.button_reply?.id ?? interactive?.list_reply?.id;
}

/** The adapter adds a text of its own to files without a caption. */
function captionOf(message: WhatsAppRawMessage['message']): string | undefined {
  const media = message.document ?? message.image ?? message.video;
  if (media !== undefined) return media.caption ?? '';
  return message.audio === undefined && message.voice === undefined && message.sticker === undefined
    ? undefined
    : '';
}
