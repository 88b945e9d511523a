/** The options of every command whose sandbox may reach something, and how they are read. */

import { parseBinding } from '../../contract/egress-bindings.ts';
import { presetNames } from '../../contract/egress-presets.ts';
import { targetOf } from '../../contract/host-name.ts';
import type { EgressBridge, EgressPolicy, EgressSpec } from '../../seams/egress.ts';
import type { CliContext, CliOption, CliValues } from '../command.ts';
import { text, texts } from '../command.ts';
import { wrongUsage } from './values.ts';

export const egressOptions = {
  allow: {
    type: 'string',
    multiple: true,
    value: 'HOST,…',
    description: `allow a host: example.com, *.example.com:8443, an address with its port, "inspect:GET https://example.com/v1/*", or ${presetNames.join(', ')}; * for all public addresses`,
  },
  deny: {
    type: 'string',
    multiple: true,
    value: 'HOST,…',
    description: 'deny a host, even if another rule allows it',
  },
  ask: {
    type: 'boolean',
    description: 'ask you about hosts that no rule covers: geode approvals',
  },
  bridge: {
    type: 'string',
    multiple: true,
    value: 'PORT=HOST:PORT',
    description: 'connect a port inside to an allowed host, for programs without proxy support',
  },
  bind: {
    type: 'string',
    multiple: true,
    value: 'NAME[=URL …]',
    description:
      'use a service whose key stays outside the sandbox: anthropic, openai, github, …, or "NAME=URL add=bearer methods=GET paths=/v1/* inspect"',
  },
} as const satisfies Record<string, CliOption>;

/** For sandboxes that live for one command, which have no other network. */
export const networkOption = {
  network: {
    type: 'string',
    value: 'none',
    description: 'none: no proxy either, so that requests fail without a reason',
  },
} as const satisfies Record<string, CliOption>;

export function networkFrom(values: CliValues): { readonly network?: 'none' } {
  const given = text(values, 'network');
  if (given === undefined) return {};
  if (given === 'none') return { network: 'none' };
  throw wrongUsage(`--network ${given} is not known here: use none, or allow hosts with --allow`);
}

/** Undefined where the command line names nothing: the config's own holds then. */
export async function egressFrom(values: CliValues): Promise<EgressSpec | undefined> {
  const allow = texts(values, 'allow');
  const bridges = texts(values, 'bridge').map(bridgeFrom);
  const bindings = texts(values, 'bind')
    .flatMap((word) => (/[\s=]/.test(word) ? [word] : word.split(',')))
    .map(parseBinding);
  const asks = values.ask === true;
  if (allow.length === 0 && bridges.length === 0 && bindings.length === 0 && !asks) return undefined;
  const { policyOf } = await import('../../contract/egress-rules.ts');
  const named = policyOf({ allow, deny: texts(values, 'deny') });
  if (asks && named.mode === 'allow-all') throw wrongUsage('--ask does not go with --allow "*"');
  const policy: EgressPolicy = asks ? { ...named, mode: 'ask' } : named;
  return { policy: bridges.length === 0 ? policy : { ...policy, bridges }, bindings };
}

function bridgeFrom(text: string): EgressBridge {
  const at = text.indexOf('=');
  const port = Number(text.slice(0, at));
  const to = targetOf(text.slice(at + 1));
  if (at < 1 || !Number.isInteger(port) || port < 1 || port > 65_535 || to === undefined)
    throw wrongUsage(`--bridge ${text} is not PORT=HOST:PORT`);
  return { port, to };
}

/** A sandbox without walls sees its policy as advice. */
export function warnIfAdvice(enforced: boolean, { err }: Pick<CliContext, 'err'>): void {
  if (!enforced) err('geode: native does not isolate: programs can bypass the proxy and the policy');
}
