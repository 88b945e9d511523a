import type { Cancel } from '../base/cancel.ts';
import { GeodeError } from '../base/errors.ts';
import { newMarkedId } from '../pool/host-mark.ts';
import { Pool } from '../pool/pool.ts';
import type { Kind } from '../pool/stock.ts';
import { checkEnv } from '../runtimes/spec.ts';
import type { Limits } from '../seams/limits.ts';
import type { PersistentSpec } from '../seams/persistent.ts';
import type { Runtime, RuntimeName } from '../seams/runtime.ts';
import type { Sandbox } from '../seams/sandbox.ts';

export interface SandboxSourceOptions {
  readonly runtimes: readonly Runtime[];
  /** The configured runtime, or the one named. */
  readonly choose: (name?: RuntimeName) => Promise<Runtime>;
  /** The image by its digest, pulled if needed; undefined for a runtime without images to pull. */
  readonly image: (runtime: Runtime, name: string | undefined, cancel: Cancel) => Promise<string | undefined>;
  /** Used if a spec names nothing else. */
  readonly limits: Limits;
  /** How long a sandbox keeps running without a host. */
  readonly leaseMs: number;
  readonly pool: { readonly floor: number; readonly ceiling: number };
}

/** How to create a sandbox that is not blank: as a copy, or by filling a blank one with `fill`. */
export interface NewSandbox {
  readonly claim?: () => Promise<{ readonly runtime: Runtime; readonly sandbox: Sandbox }>;
  readonly fill?: (id: string) => Promise<void>;
}

/** Where sandboxes for chats come from: blank ones of the pool, and halted ones. */
export class SandboxSource implements AsyncDisposable {
  readonly #options: SandboxSourceOptions;
  readonly #pool: Pool;

  constructor(options: SandboxSourceOptions) {
    this.#options = options;
    this.#pool = new Pool(options.pool);
  }

  get runtimes(): readonly Runtime[] {
    return this.#options.runtimes;
  }

  runtime(name: RuntimeName): Runtime {
    const runtime = this.#options.runtimes.find((candidate) => candidate.name === name);
    if (runtime !== undefined) return runtime;
    throw new GeodeError('runtime_unavailable', `The ${name} runtime is unknown here.`);
  }

  /** An unused blank sandbox, which the pool forgets. */
  async claim(spec: PersistentSpec, cancel: Cancel): Promise<{ runtime: Runtime; sandbox: Sandbox }> {
    const { kind, runtime } = await this.#kindOf(spec, cancel);
    const claim = await this.#pool.claim(kind, cancel);
    claim.keep();
    return { runtime, sandbox: claim.sandbox };
  }

  async warm(spec: PersistentSpec, count: number, cancel: Cancel): Promise<void> {
    await this.#pool.reserve((await this.#kindOf(spec, cancel)).kind, count, cancel);
  }

  /** Starts a sandbox that was halted or has exited; its image may be missing in the engine by now. */
  async start(id: string, name: RuntimeName, { image }: PersistentSpec, cancel: Cancel): Promise<Sandbox> {
    const runtime = this.runtime(name);
    await this.#options.image(runtime, image, cancel);
    return runtime.start(id, cancel);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#pool[Symbol.asyncDispose]();
  }

  /**
   * The settings that cannot change after opening. Variables come with each command, labels and owner with the claim.
   */
  async #kindOf(spec: PersistentSpec, cancel: Cancel): Promise<{ kind: Kind; runtime: Runtime }> {
    const { runtime: name, labels: _, egress: __, env, ...fixed } = spec;
    checkEnv(env ?? {});
    const runtime = await this.#options.choose(name);
    const content = await this.#options.image(runtime, spec.image, cancel);
    const wanted = {
      leaseMs: this.#options.leaseMs,
      ...fixed,
      limits: { ...this.#options.limits, ...spec.limits },
    };
    return {
      runtime,
      kind: {
        key: JSON.stringify([runtime.name, content, Object.entries(wanted).sort()]),
        title: spec.image === undefined ? runtime.name : `${runtime.name} ${spec.image}`,
        open: () => runtime.open({ ...wanted, id: newMarkedId('room') }),
      },
    };
  }
}
