/** Builds images through the engine's own API, with the builder that Docker and Podman share. */
import { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type Docker from 'dockerode';
import { pack } from 'tar-stream';
import { z } from 'zod';
import { cancelled, onAbort, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, isGeodeError, reasonOf } from '../../base/errors.ts';
import type { BuildContext, BuildProgress, ImageBuilds } from '../../seams/images.ts';
import { engineCall, httpStatusOf } from './engine.ts';
import { linesOf } from './json-lines.ts';

const longestLine = 2_000;
/** Lines of output shown with a failure. */
const tailLines = 20;

export function dockerBuilds(engine: () => Promise<Docker>): ImageBuilds {
  return {
    async *build(name, context, { signal } = {}) {
      const what = `Building ${name}`;
      throwIfCancelled(signal, what);
      const stop = new AbortController();
      using _watching = onAbort(signal, () => stop.abort());
      try {
        const client = await engine();
        // When the connection closes, the engine ends the current step and removes its container.
        const stream = await client.buildImage(tarOf(context), {
          ...optionsOf(name, context),
          abortSignal: stop.signal,
        });
        yield* progressOf(name, stream);
        if ((await client.getImage(name).inspect()).Id === '') throw new Error('the engine made no image');
      } catch (cause) {
        if (signal?.aborted) throw cancelled(what, signal.reason);
        throw isGeodeError(cause) ? cause : failure(name, reasonOf(cause), []);
      } finally {
        stop.abort();
      }
    },
    async remove(name, { signal } = {}) {
      const removing = (await engine()).getImage(name).remove({ ...(signal && { abortSignal: signal }) });
      const removed = removing.then(
        () => true,
        (error) => {
          if (httpStatusOf(error) === 404) return false;
          throw error;
        },
      );
      return await engineCall(`remove ${name}`, removed, { 409: 'image_in_use' });
    },
  };
}

function optionsOf(name: string, { args, labels, network, steps }: BuildContext): Docker.ImageBuildOptions {
  return {
    t: name,
    buildargs: { ...args },
    labels: { ...labels },
    nocache: steps === 'fresh',
    rm: true,
    forcerm: true,
    ...(network === 'host' && { networkmode: 'host' }),
  };
}

function tarOf({ files }: BuildContext): NodeJS.ReadableStream {
  const tar = pack();
  for (const [name, content] of files)
    tar.entry({ name, mode: 0o644, mtime: new Date(0) }, Buffer.from(content));
  tar.finalize();
  return Readable.from(tar);
}

const lineSchema = z.looseObject({ stream: z.string().optional(), error: z.string().optional() });
const stepPattern = /^step (\d+)\/(\d+) ?: ?(.*)$/i;

/** The engine answers 200 first; a failure follows as a line among the others. */
async function* progressOf(name: string, stream: AsyncIterable<unknown>): AsyncGenerator<BuildProgress> {
  const tail: string[] = [];
  let rest = '';
  for await (const message of linesOf(stream)) {
    const { stream: text = '', error } = lineSchema.parse(JSON.parse(message));
    if (error !== undefined) throw failure(name, error, [...tail, rest]);
    // A program that writes to a terminal sends pieces of a few characters.
    const lines = (rest + stripVTControlCharacters(text)).split(/\r?\n|\r/);
    rest = (lines.pop() ?? '').slice(0, longestLine);
    for (const line of lines) {
      const shown = line.trimEnd().slice(0, longestLine);
      if (shown === '') continue;
      tail.push(shown);
      if (tail.length > tailLines) tail.shift();
      yield progressIn(shown);
    }
  }
}

function progressIn(line: string): BuildProgress {
  const [, step, steps, instruction] = stepPattern.exec(line) ?? [];
  return step === undefined
    ? { type: 'build-output', line }
    : { type: 'build-step', step: Number(step), steps: Number(steps), instruction: instruction ?? '' };
}

function failure(name: string, words: string, tail: readonly string[]): GeodeError {
  const output = tail.filter((line) => line !== '').slice(-tailLines);
  if ([words, ...output].some((line) => /no space left on device|disk quota exceeded/i.test(line)))
    return new GeodeError('disk_full', `The engine has no space left to build ${name}.`, {
      hint: 'Free space where the engine keeps its images (`docker system prune`), then build again.',
    });
  const shown = output.length === 0 ? '' : `\n${output.map((line) => `  ${line}`).join('\n')}`;
  return new GeodeError('build_failed', `The image ${name} could not be built: ${words}${shown}`, {
    details: { output },
  });
}
