import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { Incoming } from '../../seams/channel.ts';

export type IncomingFile = Incoming['files'][number];

export interface FileDownload {
  readonly url: string;
  /** Host names of the platform, subdomains included, over https. */
  readonly hosts: readonly string[];
  /** The API address of the config. Trusted, even if it is private. */
  readonly apiUrl: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly mostBytes: number;
}

const timeoutMs = 120_000;

/**
 * A file of a platform. The host downloads from the platform's own addresses only, never from one that a message
 * names.
 */
export async function downloadFile(options: FileDownload): Promise<Uint8Array> {
  const { url, hosts, apiUrl, headers = {}, mostBytes } = options;
  if (!isOfPlatform(url, hosts, apiUrl)) throw new Error('its address does not belong to the platform');
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMs) });
  if (!response.ok || response.body === null)
    throw new Error(`the platform answered ${response.status} ${response.statusText}`);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body) {
    length += piece.length;
    if (length > mostBytes) throw new GeodeError('too_large', `it is larger than ${mostBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function isOfPlatform(url: string, hosts: readonly string[], apiUrl: string): boolean {
  const given = URL.parse(url);
  if (given === null) return false;
  if (given.origin === new URL(apiUrl).origin) return true;
  const isKnown = hosts.some((host) => given.hostname === host || given.hostname.endsWith(`.${host}`));
  return given.protocol === 'https:' && isKnown;
}

/** Downloads one file of a message. Errors name the file. */
export async function fetchNamed(
  { name, sizeBytes }: IncomingFile,
  mostBytes: number,
  fetchIt: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const tooLarge = () => new GeodeError('too_large', `${name} is larger than ${mostBytes} bytes.`);
  if (sizeBytes !== null && sizeBytes > mostBytes) throw tooLarge();
  try {
    const bytes = await fetchIt();
    if (bytes.length > mostBytes) throw tooLarge();
    return bytes;
  } catch (cause) {
    if (isGeodeError(cause, 'too_large')) throw tooLarge();
    throw new GeodeError('channel_failed', `${name} cannot be downloaded: ${reasonOf(cause)}`, { cause });
  }
}
