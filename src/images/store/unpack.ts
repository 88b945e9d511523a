import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type Cancel, onAbort, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError } from '../../base/errors.ts';

export interface UnpackLimits {
  readonly bytes: number;
  readonly entries: number;
}

const unpackedSchema = z.object({ entries: z.number(), bytes: z.number() });

/** Unpacks a tar archive into an empty folder with the program `images`, which refuses anything that leads outside. */
export async function unpack(
  program: string,
  archive: Readable,
  folder: string,
  limits: UnpackLimits,
  cancel: Cancel,
): Promise<z.infer<typeof unpackedSchema>> {
  const words = ['unpack', folder, String(limits.bytes), String(limits.entries)];
  return unpackedSchema.parse(JSON.parse(await runImages(program, words, archive, cancel)));
}

/** Merges unpacked layers, lowest first, into an empty folder. Files are hard links to the layers' files. */
export async function merge(
  program: string,
  layers: readonly string[],
  folder: string,
  cancel: Cancel,
): Promise<void> {
  await runImages(program, ['merge', folder, ...layers], undefined, cancel);
}

const packedSchema = z.object({ digest: z.string(), bytes: z.number() });

/** Packs an unpacked layer into a new tar file. The same files give the same bytes. */
export async function pack(
  program: string,
  layer: string,
  file: string,
  cancel: Cancel,
): Promise<z.infer<typeof packedSchema>> {
  return packedSchema.parse(JSON.parse(await runImages(program, ['pack', layer, file], undefined, cancel)));
}

async function runImages(
  program: string,
  words: readonly string[],
  input: Readable | undefined,
  { signal }: Cancel,
): Promise<string> {
  throwIfCancelled(signal, 'Unpacking the image');
  const child = spawn(program, [...words], {
    cwd: '/',
    env: {},
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
  });
  const kill = () => child.kill('SIGKILL');
  using _watching = onAbort(signal, kill);
  let reason_ = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    reason_ = (reason_ + text).slice(-2_000);
  });
  let answer = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  try {
    // A program that refuses stops reading: report its reason, not the closed pipe.
    const fed =
      input && child.stdin
        ? await pipeline(input, child.stdin).then(
            () => undefined,
            (error) => error,
          )
        : undefined;
    if (fed !== undefined && fed.code !== 'EPIPE' && fed.code !== 'ERR_STREAM_PREMATURE_CLOSE') kill();
    const code = await ended;
    throwIfCancelled(signal, 'Unpacking the image');
    if (fed instanceof GeodeError) throw fed;
    if (code === 0 && fed === undefined) return answer;
    const reason = reason_.trim() || (fed instanceof Error ? fed.message : `it exited with ${code}`);
    if (/no space left on device/i.test(reason)) {
      throw new GeodeError('disk_full', `The image does not fit on the disk: ${reason}`, {
        hint: 'Remove images that are not used, or free space on the disk of sandbox.state_dir.',
      });
    }
    throw new GeodeError('pull_failed', `The image cannot be unpacked: ${reason}`);
  } finally {
    input?.destroy();
  }
}
