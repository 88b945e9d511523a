/** The content of a message: text, and files as data URLs. */
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import type { Attachment } from '../../seams/agent.ts';

const nullish = z.string().nullish();
const partSchema = z.object({
  type: z.string(),
  text: nullish,
  refusal: nullish,
  image_url: z.union([z.string(), z.object({ url: z.string() })]).nullish(),
  file: z.object({ file_data: nullish, file_id: nullish, filename: nullish }).nullish(),
  file_data: nullish,
  file_id: nullish,
  file_url: nullish,
  filename: nullish,
  input_audio: z.object({ data: z.string(), format: z.string() }).nullish(),
});
type Part = z.infer<typeof partSchema>;

export const contentSchema = z.union([z.string(), z.array(partSchema)]).nullish();
export type Content = z.infer<typeof contentSchema>;

export function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text, refusal }) => text ?? refusal ?? '').join('');
}

/** The files of a message. Addresses and ids of files are refused: only data URLs carry the file itself. */
export function filesOf(content: Content): readonly Attachment[] {
  const parts = typeof content === 'string' ? [] : (content ?? []);
  return parts.flatMap((part, index) => fileOf(part, index + 1));
}

function fileOf(part: Part, number: number): readonly Attachment[] {
  const { image_url: image, file, input_audio: audio } = part;
  if (image) return [decoded(typeof image === 'string' ? image : image.url, undefined, `image-${number}`)];
  if (audio) return [{ name: `audio-${number}.${plainName(audio.format)}`, bytes: base64(audio.data) }];
  const { file_data: data, file_id: id, filename } = file ?? part;
  if (data) return [decoded(data, filename ?? undefined, `file-${number}`)];
  if (id || part.file_url) return refuse(id ?? part.file_url ?? '');
  return [];
}

const dataUrl = /^data:(?:[\w.+-]+\/([\w.+-]+))?(?:;[\w.+-]+=[^;,]*)*;base64,/;

function decoded(data: string, filename: string | undefined, usual: string): Attachment {
  const [head, subtype = 'bin'] = dataUrl.exec(data) ?? [];
  if (head === undefined && /^[a-z][a-z0-9+.-]*:/i.test(data)) return refuse(data);
  const name = filename === undefined ? `${usual}.${subtype.split('+')[0]}` : plainName(filename);
  return { name, bytes: base64(data.slice(head?.length ?? 0)) };
}

function plainName(name: string): string {
  const plain = name.replace(/[/\0]/g, '_').slice(0, 200);
  return /^\.*$/.test(plain) ? 'file' : plain;
}

function base64(text: string): Uint8Array {
  if (/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(text)) return Buffer.from(text, 'base64');
  throw new GeodeError('invalid_input', 'A file of the message is not base64.');
}

function refuse(address: string): never {
  throw new GeodeError(
    'invalid_input',
    `The file ${JSON.stringify(address.slice(0, 100))} is not in the message, and Geode does not fetch it.`,
    { hint: 'Send images and files as data URLs.' },
  );
}
