import type { Cancel } from '../base/cancel.ts';
import { newMarkedId } from '../pool/host-mark.ts';
import type { Kind } from '../pool/stock.ts';
import type { Egress } from '../seams/egress.ts';
import { atMost, type Limits } from '../seams/limits.ts';
import type { PullEvent, RunImage } from '../seams/run.ts';
import type { Available, Runtime, RuntimeName } from '../seams/runtime.ts';
import type { Sandbox, SandboxSpec } from '../seams/sandbox.ts';
import { rlimits } from './follow.ts';
import { type Language, placesIn } from './languages/language.ts';
import type { RunOptions } from './options.ts';
import { prestartInputOf } from './prestart/prestart-input.ts';
import { checkImageName, type RunImages } from './run-images.ts';

/** Where sandboxes for runs come from. */
export interface Supply {
  readonly images: RunImages;
  /** The configured or given runtime, with its guarantees. */
  readonly runtime: (name?: RuntimeName) => Promise<{ readonly runtime: Runtime; readonly found: Available }>;
  readonly imageOf: (language: Language) => string;
  /** For every sandbox, unless a run requests others. */
  readonly limits: Limits;
  /** Upper bounds of the runs' defaults. */
  readonly most: Limits;
  /** Interpreters are started before there is code for them. */
  readonly prestart: boolean;
  readonly egress: Egress | undefined;
}

export interface KindOfRun {
  readonly kind: Kind;
  readonly image: RunImage | null;
  /** For the prestarted interpreter in the sandbox, if there is one. */
  readonly opening: Uint8Array | undefined;
  /** The variables of the proxy that such a sandbox is made with. */
  prepared(sandbox: Sandbox): Promise<Readonly<Record<string, string>>>;
}

/** A sandbox of a run is useless without its host. */
const leaseMs = 30_000;
const defaultLimits = {
  memoryBytes: 256 * 1024 ** 2,
  cpus: 1,
  pids: 256,
  diskBytes: 1024 ** 3,
} as const;

/** The fixed settings of the sandbox. Everything else, env included, comes with the command. */
export async function* kindFor(
  { runtime: choose, images, imageOf, limits, most, prestart, egress }: Supply,
  language: Language,
  options: RunOptions,
): AsyncGenerator<PullEvent, KindOfRun> {
  const { runtime, found } = await choose(options.runtime);
  const wanted =
    options.image ??
    (found.capabilities.images && !runtime.hasMachinePrograms ? imageOf(language) : undefined);
  const image = wanted === undefined ? null : yield* imageFor(images, runtime, wanted, options);
  const spec: SandboxSpec = {
    limits: atMost(
      { ...atMost(enforceable(found, language), most), ...limits, ...options.limits },
      options.most ?? {},
    ),
    leaseMs,
    ...(wanted === undefined ? {} : { image: image?.id ?? wanted }),
    ...(options.minimumGrade === undefined ? {} : { minimumGrade: options.minimumGrade }),
  };
  const opening = prestart && language.prestart ? prestartInputOf(language.prestart, options) : undefined;
  const hasProxy = egress !== undefined && options.egress !== null && runtime.name !== 'native';
  const prepared = async (sandbox: Sandbox) => (hasProxy ? egress.prepare(sandbox) : {});
  const kind: Kind = {
    key: JSON.stringify([
      runtime.name,
      spec.image,
      spec.minimumGrade,
      Object.entries(spec.limits ?? {}).sort(),
      opening === undefined ? null : language.name,
      hasProxy,
    ]),
    title: wanted === undefined ? runtime.name : `${runtime.name} ${wanted}`,
    async open() {
      const sandbox = await runtime.open({ ...spec, id: newMarkedId('run') }).catch((error) => {
        if (wanted !== undefined) images.forget(runtime.images, wanted);
        throw error;
      });
      if (opening !== undefined) await startInterpreter(sandbox, language, prepared);
      return sandbox;
    },
  };
  return { kind, image, opening, prepared };
}

/** A failure to prestart is not an error here: the run's own start reports the reason. */
async function startInterpreter(
  sandbox: Sandbox,
  language: Language,
  prepared: KindOfRun['prepared'],
): Promise<void> {
  const waiting = await language.prestart?.start(placesIn(sandbox.workdir, language), sandbox);
  if (waiting === undefined) return;
  const { gate, ...step } = waiting;
  try {
    const env = { ...(await prepared(sandbox)), ...step.env };
    await sandbox.rootFiles.write(gate.path, gate.content);
    await sandbox.prepare?.({ ...step, env, rlimits, timeoutMs: null });
  } catch {}
}

/** Null if the runtime pulls its images itself, or has none and will report that. */
async function* imageFor(
  images: RunImages,
  runtime: Runtime,
  name: string,
  cancel: Cancel,
): AsyncGenerator<PullEvent, RunImage | null> {
  checkImageName(name);
  if (runtime.images === undefined) return null;
  return { name, ...(yield* images.resolve(runtime.images, name, cancel)) };
}

/** Defaults apply if the runtime can enforce them; a requested limit is enforced or refused. */
function enforceable({ capabilities: { limits } }: Available, { memoryBytes }: Language): Limits {
  return {
    ...(limits.memory ? { memoryBytes: memoryBytes ?? defaultLimits.memoryBytes } : {}),
    ...(limits.cpus ? { cpus: defaultLimits.cpus } : {}),
    ...(limits.pids ? { pids: defaultLimits.pids } : {}),
    ...(limits.disk ? { diskBytes: defaultLimits.diskBytes } : {}),
  };
}
