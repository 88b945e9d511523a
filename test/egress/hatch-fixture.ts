import { readFileSync } from 'node:fs';
import { type HatchOptions, openHatch } from '../../src/egress/open-hatch.ts';
import type { Resolve } from '../../src/egress/proxy/resolve.ts';
import type { AuditRecord, EgressPolicy, EgressRule, EgressSpec, OpenHatch } from '../../src/seams/egress.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { certificateFile } from './upstreams.ts';

/** Names that lead to this machine, and one that does not say so. */
export const testNames: Resolve = async (host) => {
  if (host.endsWith('.test')) return ['127.0.0.1'];
  throw new Error('no such name');
};

/** A rule marked as private, because every server of these tests has a private address. */
export function toHere(host: string, port: number, extra: Partial<EgressRule> = {}): EgressRule {
  return { host, ports: [port], private: true, ...extra };
}

export function allowing(...allow: EgressRule[]): EgressSpec {
  return specOf({ mode: 'allow-list', allow, deny: [] });
}

export function specOf(policy: EgressPolicy): EgressSpec {
  return { policy, bindings: [] };
}

export interface Opened {
  readonly hatch: OpenHatch;
  readonly audit: AuditRecord[];
}

export async function hatchOf(
  sandbox: Sandbox,
  spec: EgressSpec,
  resolve: Resolve = testNames,
  extra: Partial<HatchOptions> = {},
): Promise<Opened> {
  const audit: AuditRecord[] = [];
  const owner = { sandboxId: sandbox.id, user: 'alice' };
  const hatch = await openHatch({
    sandbox,
    owner,
    spec,
    resolve,
    audit: (record) => audit.push(record),
    ...extra,
  });
  return { hatch, audit };
}

/** The host trusts the servers of these tests, which sign for themselves. */
export const trusting: Partial<HatchOptions> = { upstreamCa: readFileSync(certificateFile, 'utf8') };

/** A short program in the sandbox, with the variables of its hatch. */
export function python(sandbox: Sandbox, { hatch }: Pick<Opened, 'hatch'>, code: string, ...args: string[]) {
  return sandbox.exec({ argv: ['python3', '-c', code, ...args], env: hatch.env, timeoutMs: 50_000 });
}

/** The answer that urllib gets for a URL: the status, the reason and the body. */
export const getUrl = `
import sys, urllib.request, urllib.error, ssl
context = ssl._create_unverified_context()
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=40, context=context) as answer:
            print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.reason, error.read().decode())
    except Exception as error:
        print('failed', error)
`;
