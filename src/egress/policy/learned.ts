import { z } from 'zod';
import type { Ledger } from '../../ledger/ledger.ts';
import type { EgressPolicy, EgressRule, EgressTarget } from '../../seams/egress.ts';
import { isPlainPath } from '../proxy/request-target.ts';

/** A reached target; `http` where requests were visible, `inspected` where the host decrypted the TLS. */
export interface Seen extends EgressTarget {
  readonly private: boolean;
  readonly inspected: boolean;
  /** A path of `null` means too many to list. */
  readonly http?: { readonly method: string; readonly path: string | null };
}

/** Maximum records of one sandbox: a port scan must not become a policy. */
const mostTargets = 1_000;
/** Maximum recorded paths of one host and method; above it, every path is allowed. */
const mostPaths = 48;
const longestPath = 2_000;

/** Targets that sandboxes reached in the mode `learn`. */
export class Learned {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** The requested path with its query. */
  add(sandboxId: string, { host, port, private: isPrivate, inspected, http }: Seen): void {
    const method = http?.method ?? '';
    const asked = http?.path?.replace(/[?#].*/s, '') ?? '';
    this.#ledger.write((sql) => {
      const { paths } = countSchema.parse(
        sql.get`SELECT count(*) AS paths FROM egress_learned WHERE sandbox_id = ${sandboxId} AND host = ${host}
          AND port = ${port} AND method = ${method} AND path <> ${asked}`,
      );
      // A star at its end would allow more than was requested.
      const isNameable = isPlainPath(asked) && !asked.endsWith('*') && asked.length <= longestPath;
      const path = isNameable && paths < mostPaths ? asked : '';
      return sql.run`INSERT INTO egress_learned (sandbox_id, host, port, private, inspected, method, path)
        SELECT ${sandboxId}, ${host}, ${port}, ${isPrivate ? 1 : 0}, ${inspected ? 1 : 0}, ${method}, ${path}
        WHERE (SELECT count(*) FROM egress_learned WHERE sandbox_id = ${sandboxId}) < ${mostTargets}
        ON CONFLICT (sandbox_id, host, port, method, path) DO NOTHING`;
    });
  }

  targets(sandboxId: string): readonly Seen[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT host, port, private, inspected, method, path FROM egress_learned
        WHERE sandbox_id = ${sandboxId} ORDER BY host, port, method, path`,
    );
    return rows.map((row) => {
      const { host, port, private: isPrivate, inspected, method, path } = rowSchema.parse(row);
      return {
        host,
        port,
        private: isPrivate === 1,
        inspected: inspected === 1,
        ...(method !== '' && { http: { method, path: path === '' ? null : path } }),
      };
    });
  }

  forget(sandboxId: string): void {
    this.#ledger.write((sql) => sql.run`DELETE FROM egress_learned WHERE sandbox_id = ${sandboxId}`);
  }
}

const countSchema = z.object({ paths: z.number() });
const rowSchema = z.object({
  host: z.string(),
  port: z.number(),
  private: z.number(),
  inspected: z.number(),
  method: z.string(),
  path: z.string(),
});

/** The smallest policy that allows all of these: each host with its ports and, where known, its methods and paths. */
export function smallestPolicy(policy: EgressPolicy, seen: readonly Seen[]): EgressPolicy {
  return { ...policy, mode: seen.length === 0 ? 'deny-all' : 'allow-list', allow: rulesFor(seen) };
}

function rulesFor(seen: readonly Seen[]): readonly EgressRule[] {
  const whole = seen.filter(({ http }) => http === undefined);
  // A target that a tunnel also reached needs no rule for its requests.
  const isWhole = ({ host, port }: Seen) => whole.some((one) => one.host === host && one.port === port);
  return [...wholeRules(whole), ...requestRules(seen.filter((one) => !isWhole(one)))];
}

function wholeRules(seen: readonly Seen[]): readonly EgressRule[] {
  const open = seen.filter((target) => !target.private);
  const hosts = [...new Set(open.map(({ host }) => host))].map((host) => ({
    host,
    ports: open.filter((target) => target.host === host).map(({ port }) => port),
  }));
  // A rule for a private address names one port.
  const closed = seen
    .filter((target) => target.private)
    .map(({ host, port }) => ({ host, ports: [port], private: true }));
  return [...hosts.flatMap(inPieces), ...closed];
}

/** One rule for each target and set of paths; methods with the same paths share it. */
function requestRules(seen: readonly Seen[]): readonly EgressRule[] {
  const targets = Map.groupBy(seen, ({ host, port, inspected }) => JSON.stringify([host, port, inspected]));
  return [...targets.values()].flatMap((group) => {
    const byMethod = Map.groupBy(group, ({ http }) => http?.method ?? '');
    const byPaths = Map.groupBy(byMethod, ([, requests]) => JSON.stringify(pathsOf(requests)));
    return [...byPaths.values()].map((methods) => ruleFor(group, methods));
  });
}

function ruleFor(
  group: readonly Seen[],
  methods: readonly (readonly [string, readonly Seen[]])[],
): EgressRule {
  const [{ host, port, inspected } = { host: '', port: 0, inspected: false }] = group;
  const paths = pathsOf(methods[0]?.[1] ?? []);
  return {
    host,
    ports: [port],
    methods: methods.map(([method]) => method),
    ...(paths && { paths }),
    ...(inspected && { inspect: true }),
    ...(group.some((one) => one.private) && { private: true }),
  };
}

/** Undefined if there are too many to list. */
function pathsOf(requests: readonly Seen[]): readonly string[] | undefined {
  const paths = requests.map(({ http }) => http?.path ?? null);
  return paths.includes(null) ? undefined : paths.flatMap((path) => (path === null ? [] : [path]));
}

/** Maximum ports of a rule. */
function inPieces({
  host,
  ports,
}: {
  readonly host: string;
  readonly ports: readonly number[];
}): EgressRule[] {
  return Array.from({ length: Math.ceil(ports.length / mostPorts) }, (_, index) => ({
    host,
    ports: ports.slice(index * mostPorts, (index + 1) * mostPorts),
  }));
}

const mostPorts = 64;
