import type Docker from 'dockerode';
import { z } from 'zod';
import { cancelled, onAbort, throwIfCancelled } from '../../base/cancel.ts';
import { GeodeError, reasonOf } from '../../base/errors.ts';
import type { ImageFacts, Images, PullProgress } from '../../seams/images.ts';
import { dockerBuilds } from './builds.ts';
import { engineCall, httpStatusOf } from './engine.ts';
import { linesOf } from './json-lines.ts';

/** The images of an engine. */
export function dockerImages(engine: () => Promise<Docker>): Images {
  const find = async (name: string): Promise<ImageFacts | undefined> => {
    const asked = (await engine()).getImage(name).inspect();
    const facts = await engineCall(`look at ${name}`, absent(asked));
    return facts === undefined
      ? undefined
      : { id: facts.Id, digest: digestOf(name, facts.RepoDigests ?? []), sizeBytes: facts.Size };
  };
  return {
    find,
    builds: dockerBuilds(engine),
    async *pull(name, { signal } = {}) {
      throwIfCancelled(signal, `Pulling ${name}`);
      const stop = new AbortController();
      using _watching = onAbort(signal, () => stop.abort());
      try {
        // The complete name in one parameter: without a tag the engine would pull every tag.
        const asked = { fromImage: name, abortSignal: stop.signal };
        yield* progressOf(await (await engine()).createImage(asked));
        if ((await find(name)) === undefined)
          throw new Error('the engine stopped before the pull was complete');
      } catch (cause) {
        if (signal?.aborted) throw cancelled(`Pulling ${name}`, signal.reason);
        throw refusal(name, cause);
      } finally {
        stop.abort();
      }
    },
  };
}

async function absent<T>(asked: Promise<T>): Promise<T | undefined> {
  return asked.catch((error) => {
    if (httpStatusOf(error) === 404) return undefined;
    throw error;
  });
}

/** The digest for the requested name, among all names that registries use. */
function digestOf(name: string, known: readonly string[]): string | null {
  const repository = repositoryOf(name);
  const own = known.find((entry) => entry.split('@')[0]?.endsWith(repository)) ?? known[0];
  return own?.split('@')[1] ?? null;
}

function repositoryOf(name: string): string {
  return name.replace(/@.*$/, '').replace(/:[^/]*$/, '');
}

const lineSchema = z.looseObject({
  status: z.string().optional(),
  id: z.string().optional(),
  progressDetail: z.looseObject({ current: z.number().optional(), total: z.number().optional() }).nullish(),
  error: z.string().optional(),
});

/** The engine answers 200 first; a failure follows as a line among the others. */
async function* progressOf(stream: AsyncIterable<unknown>): AsyncGenerator<PullProgress> {
  const layers = new Map<string, { current: number; total: number }>();
  for await (const line of linesOf(stream)) {
    const { status = '', id, progressDetail, error } = lineSchema.parse(JSON.parse(line));
    if (error !== undefined) throw new Error(error);
    const { current, total } = progressDetail ?? {};
    if (id !== undefined && status === 'Downloading' && current !== undefined && total !== undefined) {
      layers.set(id, { current, total });
    } else if (id !== undefined && /^(Download complete|Pull complete|Extracting)/.test(status)) {
      const layer = layers.get(id);
      if (layer !== undefined) layers.set(id, { current: layer.total, total: layer.total });
    }
    const sizes = [...layers.values()];
    const receivedBytes = sizes.reduce((sum, layer) => sum + layer.current, 0);
    yield { receivedBytes, totalBytes: sizes.reduce((sum, layer) => sum + layer.total, 0), status };
  }
}

/** "Not there" and "not reachable" need different next steps; the engine tells them apart only in its message. */
function refusal(name: string, cause: unknown): GeodeError {
  const message = (cause as { json?: { message?: unknown } }).json?.message;
  const words = (typeof message === 'string' ? message : reasonOf(cause))
    .replace(/^\(HTTP code \d+\) [^-]*- /, '')
    .trim();
  const missing = httpStatusOf(cause) === 404 || /manifest unknown|not found|does not exist/i.test(words);
  return new GeodeError(
    missing ? 'image_missing' : 'pull_failed',
    `The image ${name} could not be pulled: ${words}`,
    { cause, ...(missing ? { hint: 'Check the name and the tag, or use another image.' } : {}) },
  );
}
