import { type Cancel, within } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { Notifier } from '../base/notifier.ts';
import type { ImageFacts, Images, PullProgress } from '../seams/images.ts';
import type { PullEvent } from '../seams/run.ts';
import type { CountedPull, PullAllowance } from './pull-rules.ts';

/** Anyone with access to the engine may move a tag to another image, so a tag is resolved again after this time. */
const freshMs = 30_000;

interface Place {
  readonly known: Map<string, { readonly facts: ImageFacts; readonly at: number }>;
  readonly pulls: Map<string, Pull>;
}

/** Finds images and pulls missing ones: once for any number of waiting runs. */
export class RunImages {
  readonly #pullDeadlineMs: number;
  readonly #allowance: PullAllowance | undefined;
  /** By runtime, because one may have an image that another does not. */
  readonly #places = new WeakMap<Images, Place>();

  /** Without an allowance everybody may pull everything. */
  constructor(options: { readonly pullDeadlineMs: number; readonly allowance?: PullAllowance }) {
    this.#pullDeadlineMs = options.pullDeadlineMs;
    this.#allowance = options.allowance;
  }

  /** Yields the progress if a pull is needed; returns the image by its digest. */
  async *resolve(
    images: Images,
    name: string,
    { signal }: Cancel = {},
  ): AsyncGenerator<PullEvent, ImageFacts> {
    const place = this.#placeOf(images);
    const known = place.known.get(name);
    if (known !== undefined && performance.now() - known.at < freshMs) return known.facts;
    const since = performance.now();
    const found = await images.find(checkImageName(name), { signal });
    // Another pull may have ended during the engine's check.
    const pulled = place.known.get(name);
    if (found === undefined && pulled !== undefined && pulled.at >= since) return pulled.facts;
    const facts = found ?? (yield* this.#pull(images, name, signal));
    place.known.set(name, { facts, at: performance.now() });
    return facts;
  }

  /** Called after an open that failed, because the image may have been removed. */
  forget(images: Images | undefined, name: string): void {
    if (images !== undefined) this.#placeOf(images).known.delete(name);
  }

  #placeOf(images: Images): Place {
    const place = this.#places.get(images) ?? { known: new Map(), pulls: new Map() };
    this.#places.set(images, place);
    return place;
  }

  async *#pull(images: Images, name: string, signal?: AbortSignal): AsyncGenerator<PullEvent, ImageFacts> {
    this.#allowance?.check(name);
    const { pulls } = this.#placeOf(images);
    const pull =
      pulls.get(name) ??
      new Pull(images, name, {
        deadlineMs: this.#pullDeadlineMs,
        counted: this.#allowance?.begin(name),
        forget: () => pulls.delete(name),
      });
    pulls.set(name, pull);
    return yield* pull.follow({ signal });
  }
}

interface PullOptions {
  readonly deadlineMs: number;
  /** Undefined without a limit. */
  readonly counted: CountedPull | undefined;
  readonly forget: () => void;
}

/** One pull and all its waiting callers. It stops when the last of them leaves. */
class Pull {
  readonly #ended: Promise<ImageFacts>;
  readonly #name: string;
  readonly #stop = new AbortController();
  readonly #moved = new Notifier();
  readonly #options: PullOptions;
  #followers = 0;
  #progress: PullProgress | undefined;
  #over = false;

  constructor(images: Images, name: string, options: PullOptions) {
    this.#name = name;
    this.#options = options;
    this.#ended = within(
      {
        ms: options.deadlineMs,
        what: `Pulling ${name}`,
        hint: 'Try again, raise `runs.pull_timeout`, or pull the image yourself.',
        signal: this.#stop.signal,
      },
      (signal) => this.#fetch(images, signal),
    ).finally(() => this.#finish());
    this.#ended.catch(() => {});
  }

  async *follow(cancel: Cancel): AsyncGenerator<PullEvent, ImageFacts> {
    this.#followers += 1;
    try {
      let reported: PullProgress | undefined;
      while (!this.#over) {
        if (this.#progress !== undefined && this.#progress !== reported) {
          reported = this.#progress;
          yield { type: 'pull-progress', image: this.#name, ...reported };
        } else await this.#moved.changed(`Pulling ${this.#name}`, cancel);
      }
      return await this.#ended;
    } finally {
      this.#followers -= 1;
      if (this.#followers === 0) {
        this.#finish();
        this.#stop.abort();
      }
    }
  }

  /** Closed to new callers: the next one starts its own pull. */
  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.forget();
    this.#moved.notify();
  }

  async #fetch(images: Images, signal: AbortSignal): Promise<ImageFacts> {
    const { counted } = this.#options;
    for await (const progress of images.pull(this.#name, { signal })) {
      counted?.count(progress.totalBytes);
      this.#progress = progress;
      this.#moved.notify();
    }
    const facts = await images.find(this.#name, { signal });
    if (facts === undefined)
      throw new GeodeError('image_missing', `The image ${this.#name} was pulled and removed again.`);
    await this.#checkSize(images, facts);
    return facts;
  }

  /** Unpacked layers are larger than the transfer. An image that is too large is removed. */
  async #checkSize(images: Images, { sizeBytes }: ImageFacts): Promise<void> {
    try {
      this.#options.counted?.count(sizeBytes);
    } catch (error) {
      await images.builds?.remove(this.#name).catch(() => {});
      throw error;
    }
  }
}

/** Only a name that means one image: without a tag or digest an engine would pull all of them. */
export function checkImageName(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1);
  if (!/^[a-z0-9][\w./:@-]{0,254}$/i.test(name)) {
    throw new GeodeError('invalid_input', `${JSON.stringify(name)} is not an image name.`);
  }
  if (/:\w[\w.-]*$/.test(last)) return name;
  throw new GeodeError('invalid_input', `The image ${name} has no tag.`, {
    hint: `Add one: ${name}:TAG or ${name}@sha256:….`,
  });
}
