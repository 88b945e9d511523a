import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { protocolError } from '../base/protocol-error.ts';
import type { Link } from './link.ts';
import { chunksOf, openStream, parseJson, responseOf } from './request.ts';

/** A guest that sends longer lines or forbidden announcements loses its link. */
const longestLine = 64 * 1024;
const retryMs = 250;

const announcementSchema = z.looseObject({
  type: z.string().max(64),
  id: z.string().max(64).optional(),
  door: z.string().max(64).optional(),
  bytes: z.number().int().min(0).optional(),
});
type Announcement = z.infer<typeof announcementSchema>;

export interface AnnouncementsOptions {
  readonly on: (announcement: Announcement) => void;
  /** The stream restarted or lost events: query everything that waits. */
  readonly onGap: () => void;
  readonly signal: AbortSignal;
}

/**
 * Follows the guest's event stream across connections of the link, until the signal or the end of the sandbox.
 * Listening does not count as activity.
 */
export async function followAnnouncements(link: Link, options: AnnouncementsOptions): Promise<void> {
  const { signal } = options;
  while (!signal.aborted && link.end === undefined) {
    try {
      const session = await link.session({ signal });
      await link.guarded(() => listen(session, options));
    } catch {
      // A lost link returns, a paused sandbox is resumed; a dead sandbox ends the loop.
    }
    await delay(retryMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

async function listen(session: ClientHttp2Session, options: AnnouncementsOptions): Promise<void> {
  const stream = openStream(session, 'GET', '/v1/events', options.signal);
  try {
    stream.end();
    await responseOf(stream);
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of chunksOf(stream)) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      for (let at = rest.indexOf(10); at !== -1; at = rest.indexOf(10)) {
        take(rest.subarray(0, at), options);
        rest = rest.subarray(at + 1);
      }
      if (rest.length > longestLine) throw protocolError(`an event longer than ${longestLine} bytes`);
    }
  } finally {
    stream.destroy();
  }
}

function take(line: Buffer, { on, onGap }: AnnouncementsOptions): void {
  const announcement = parseJson(line, announcementSchema);
  if (announcement.type === 'ready' || announcement.type === 'lost') onGap();
  else on(announcement);
}
