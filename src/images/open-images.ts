/** Geode's own images, as in `seams/images.ts`: built by the engine, recorded in the ledger. */
import type { Cancel } from '../base/cancel.ts';
import { GeodeError, isGeodeError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { Turns } from '../base/turns.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { EventSink } from '../seams/events.ts';
import type {
  BuildContext,
  BuildEvent,
  BuildRequest,
  BuiltImage,
  BuiltImageName,
  BuiltImages,
  ImageBuilds,
  ImageFacts,
  Images,
} from '../seams/images.ts';
import type { PullEvent } from '../seams/run.ts';
import type { Runtime } from '../seams/runtime.ts';
import { ImageTable } from './image-table.ts';
import { chainOf, contextOf, type Mirrors } from './recipes.ts';

export interface BuiltImagesOptions {
  /** With `imageChapter`. */
  readonly ledger: Ledger;
  readonly events: EventSink;
  readonly log: Log;
  /** Geode's version: the tag of the images. */
  readonly version: string;
  /** The runtime that builds. Throws `runtime_unavailable` with the reason if no engine answers. */
  readonly runtime: () => Promise<Runtime>;
  /** Pulls an image if it is missing. */
  readonly pull: (name: string, options: Cancel) => AsyncGenerator<PullEvent, ImageFacts>;
  readonly from: string;
  readonly mirrors: Mirrors;
  readonly network: BuildContext['network'];
  readonly timeoutMs: number;
  /** A folder for each image; default: Geode's own recipes. */
  readonly recipes?: string;
}

interface Builder {
  readonly images: Images;
  readonly builds: ImageBuilds;
}

export function openBuiltImages(options: BuiltImagesOptions): BuiltImages {
  const { ledger, events, log, version } = options;
  const table = new ImageTable(ledger);
  const turns = new Turns();
  const tagOf = (name: BuiltImageName) => `localhost/geode/${name}:${version}`;

  async function* buildAll(
    user: string,
    request: BuildRequest,
    signal: AbortSignal,
  ): AsyncGenerator<BuildEvent, BuiltImage> {
    const { images, builds } = await builderOf(await options.runtime());
    const from = request.from ?? options.from;
    let below = { name: from, id: (yield* pulled(from, { signal })).id };
    let built: BuiltImage | undefined;
    for (const name of chainOf(request.name)) {
      const image = tagOf(name);
      const context: BuildContext = {
        ...(await contextOf(name, below.id, options.mirrors, options.recipes)),
        labels: { 'dev.geode.image': name },
        network: options.network,
        steps: request.steps ?? 'cached',
      };
      for await (const progress of builds.build(image, context, { signal })) yield { image, ...progress };
      const found = await images.find(image, { signal });
      if (found === undefined)
        throw new GeodeError('build_failed', `The image ${image} was built but is missing.`);
      const made = {
        name,
        image,
        id: found.id,
        from: below.name,
        fromId: below.id,
        builtAt: Date.now(),
        builtBy: user,
      };
      table.set(made);
      built = { ...made, sizeBytes: found.sizeBytes };
      below = { name: image, id: found.id };
    }
    if (built === undefined) throw new GeodeError('invalid_input', `There is no image ${request.name}.`);
    return built;
  }

  async function* pulled(name: string, cancel: Cancel): AsyncGenerator<BuildEvent, ImageFacts> {
    try {
      const pulling = options.pull(name, cancel);
      let step = await pulling.next();
      for (; !step.done; step = await pulling.next()) yield step.value;
      return step.value;
    } catch (error) {
      if (!isGeodeError(error, 'image_missing') && !isGeodeError(error, 'pull_failed')) throw error;
      const hint =
        'Without a registry, use a Debian image that the engine has: geode image build --from IMAGE.';
      throw new GeodeError(error.code, error.message, { hint, cause: error });
    }
  }

  return {
    async *build(user, request) {
      const image = tagOf(request.name);
      const emit = (outcome: string, digest: string | null) =>
        events.emit(user, { type: 'image-build', image, outcome, digest });
      const stop = new AbortController();
      const deadline = AbortSignal.timeout(options.timeoutMs);
      const signals = [stop.signal, deadline, ...(request.signal ? [request.signal] : [])];
      let outcome = 'cancelled';
      using _turn = await turns.take({ signal: request.signal, what: `Building ${image}` });
      try {
        const built = yield* buildAll(user, request, AbortSignal.any(signals));
        outcome = 'ok';
        emit(outcome, built.id);
        return built;
      } catch (error) {
        const failure =
          deadline.aborted && !request.signal?.aborted ? tooLong(image, options.timeoutMs) : error;
        outcome = isGeodeError(failure) ? failure.code : 'internal';
        throw failure;
      } finally {
        stop.abort();
        if (outcome !== 'ok') emit(outcome, null);
      }
    },

    async list(cancel = {}) {
      const recorded = table.all();
      if (recorded.length === 0) return [];
      const images = await options.runtime().then(
        (runtime) => runtime.images,
        () => undefined,
      );
      return Promise.all(
        recorded.map(async (each) => {
          const found = await images?.find(each.image, cancel).catch((error) => {
            log.warn({ err: error }, 'An image cannot be inspected');
            return undefined;
          });
          return { ...each, sizeBytes: found?.id === each.id ? found.sizeBytes : null };
        }),
      );
    },

    async remove(user, name, cancel = {}) {
      const known = table.all().find((each) => each.name === name);
      if (known === undefined) return false;
      const { builds } = await builderOf(await options.runtime());
      await builds.remove(known.image, cancel);
      table.remove(name);
      events.emit(user, { type: 'image-remove', image: known.image });
      return true;
    },
  };
}

async function builderOf({ name, images }: Runtime): Promise<Builder> {
  if (images?.builds !== undefined) return { images, builds: images.builds };
  throw new GeodeError('cannot_enforce', `The ${name} runtime cannot build images.`, {
    hint: 'Set up Docker or Podman: `geode doctor` shows what is missing.',
  });
}

function tooLong(image: string, ms: number): GeodeError {
  return new GeodeError('timed_out', `Building ${image} took longer than ${ms / 1000} s.`, {
    hint: 'Raise `images.build_timeout`, or find out why the last step is slow.',
  });
}
