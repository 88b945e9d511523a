import { GeodeError } from '../../../base/errors.ts';
import type { RemoteSandboxSpec } from '../../../client/sandboxes.ts';
import type { PersistentSpec, SandboxStatus } from '../../../seams/persistent.ts';
import { networks } from '../../../seams/sandbox.ts';
import { type CliCommand, type CliContext, exitCodes, text, texts } from '../../command.ts';
import { connectHost, type HostedChat, hostingOptions } from '../../hosting.ts';
import { egressFrom, egressOptions, warnIfAdvice } from '../../input/egress-options.ts';
import { envFrom, limitsFrom, runtimeFrom, sandboxOptions } from '../../input/sandbox-options.ts';
import { onePositional, wrongUsage } from '../../input/values.ts';
import { pullOf } from '../../render/show-pull.ts';
import { showStatus } from '../../render/show-status.ts';

/** Options for a new sandbox; also used by `geode shell`, which creates a missing one. */
export const creationOptions = {
  ...sandboxOptions,
  ...egressOptions,
  image: {
    type: 'string',
    value: 'IMAGE',
    description: 'image to create it from, where the runtime supports images',
  },
  cpus: { type: 'string', value: 'N', description: 'CPU limit: 0.5, 2, or none' },
  network: { type: 'string', value: 'NAME', description: `one of ${networks.join(', ')} (default none)` },
  label: { type: 'string', multiple: true, value: 'NAME=VALUE', description: 'a label; may be repeated' },
} as const satisfies CliCommand['options'];

export const sandboxCreateCommand: CliCommand = {
  name: 'sandbox create',
  summary: 'Create a sandbox that stays',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ['geode sandbox create demo', 'uses the strongest runtime that works here'],
    ['geode sandbox create --allow npm,pypi demo', 'allows only these registries'],
    [
      'geode sandbox create --runtime docker --image python:3.12-slim --memory 1g alice/demo',
      'for the user alice; an existing sandbox with the same settings is kept',
    ],
  ],
  options: { ...hostingOptions, ...creationOptions },
  async run(context) {
    const word = onePositional(context, '[USER/]CHAT');
    const spec = await creationFrom(context);
    await using host = await connectHost(context);
    const status = await makeIn(await host.chat(word), spec, context);
    if (spec.egress !== undefined) warnIfAdvice(status.runtime !== 'native', context);
    showStatus(status, context);
    return exitCodes.done;
  },
};

/** Made or started if need be; a pull that it waits for is shown. */
export async function makeIn(
  chat: HostedChat,
  spec: RemoteSandboxSpec,
  context: CliContext,
): Promise<SandboxStatus> {
  const pull = pullOf(context);
  const { signal } = context;
  return await chat
    .ask((own, name) => own.getOrCreate(name, spec, { onPull: pull.show, signal }))
    .finally(() => pull.end());
}

/** Only the given options: an existing sandbox must match each of them. */
export async function creationFrom({
  values,
  machine,
}: Pick<CliContext, 'values' | 'machine'>): Promise<RemoteSandboxSpec> {
  const egress = await egressFrom(values);
  const runtime = runtimeFrom(values);
  const image = text(values, 'image');
  const env = envFrom(values, machine);
  const labels = labelsFrom(texts(values, 'label'));
  const limits = limitsFrom(values);
  return {
    ...(runtime === undefined ? {} : { runtime }),
    ...(image === undefined ? {} : { image }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...networkFrom(text(values, 'network')),
    ...(egress === undefined ? {} : { egress }),
  };
}

function networkFrom(name: string | undefined): Pick<PersistentSpec, 'network'> {
  if (name === undefined) return {};
  const network = networks.find((known) => known === name);
  if (network !== undefined) return { network };
  throw new GeodeError('invalid_input', `There is no network ${name}.`, {
    hint: `Use one of ${networks.join(', ')}.`,
    details: { usage: true },
  });
}

function labelsFrom(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw wrongUsage(`--label ${pair} is not NAME=VALUE`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
