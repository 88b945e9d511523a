/** An animation of what a page shows: the pictures of Chromium in one WebP file, without another program. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';

export interface Recording {
  /** Ends it; returns the file. */
  stop(): Promise<Buffer>;
}

interface Frame {
  readonly picture: Buffer;
  ms: number;
}

const everyMs = 160;
const quality = 55;
/** Shorter frames are motion, which is shown at double speed. */
const motionMs = 600;

/** Takes pictures until `stop`. A picture that is equal to the one before makes that one last longer. */
export async function record(page: Page): Promise<Recording> {
  const session = await page.context().newCDPSession(page);
  const frames: Frame[] = [];
  let isOver = false;
  const size = page.viewportSize() ?? { width: 1200, height: 750 };
  const take = async () => {
    while (!isOver) {
      const begun = performance.now();
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality });
      const picture = Buffer.from(data, 'base64');
      await delay(Math.max(0, everyMs - (performance.now() - begun)));
      const ms = performance.now() - begun;
      const last = frames.at(-1);
      if (last?.picture.equals(picture)) last.ms += ms;
      else frames.push({ picture, ms });
    }
  };
  const taking = take();
  return {
    async stop() {
      isOver = true;
      await taking;
      return animated(frames, size);
    },
  };
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function animated(
  frames: readonly Frame[],
  { width, height }: { readonly width: number; readonly height: number },
): Buffer {
  const isAnimated = 0x02;
  const head = Buffer.concat([Buffer.from([isAnimated, 0, 0, 0]), three(width - 1), three(height - 1)]);
  const forever = Buffer.from([0, 0, 0, 0, 0, 0]);
  const parts = frames.map(({ picture, ms }) =>
    chunk('ANMF', [
      three(0),
      three(0),
      three(width - 1),
      three(height - 1),
      three(Math.round(ms < motionMs ? ms / 2 : ms)),
      // The picture replaces the one before it, and stays.
      Buffer.from([0x02]),
      imageOf(picture),
    ]),
  );
  const body = Buffer.concat([
    Buffer.from('WEBP'),
    chunk('VP8X', [head]),
    chunk('ANIM', [forever]),
    ...parts,
  ]);
  return Buffer.concat([Buffer.from('RIFF'), four(body.length), body]);
}

/** The chunks of a single picture that hold its pixels. */
function imageOf(picture: Buffer): Buffer {
  const found: Buffer[] = [];
  for (let at = 12; at + 8 <= picture.length; ) {
    const name = picture.toString('latin1', at, at + 4);
    const length = picture.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    if (['VP8 ', 'VP8L', 'ALPH'].includes(name)) found.push(picture.subarray(at, end));
    at = end;
  }
  return Buffer.concat(found);
}

function chunk(name: string, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const padding = Buffer.alloc(body.length % 2);
  return Buffer.concat([Buffer.from(name), four(body.length), body, padding]);
}

function three(value: number): Buffer {
  const bytes = Buffer.alloc(3);
  bytes.writeUIntLE(value, 0, 3);
  return bytes;
}

function four(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
