import { z } from 'zod';
import type { EgressPolicy, EgressRule, EgressTarget } from '../core/egress.ts';
import type { Ledger } from '../ledger/ledger.ts';

type SeenTarget = EgressTarget & { readonly private: boolean };

/** Targets that one sandbox may leave here: a scan of the whole net is no policy. */
const mostTargets = 1_000;

/** What sandboxes reached in the mode `learn`. */
export class Learned {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  add(sandboxId: string, { host, port, private: isPrivate }: SeenTarget): void {
    this.#ledger.write(
      (sql) => sql.run`INSERT INTO egress_learned (sandbox_id, host, port, private)
        SELECT ${sandboxId}, ${host}, ${port}, ${isPrivate ? 1 : 0}
        WHERE (SELECT count(*) FROM egress_learned WHERE sandbox_id = ${sandboxId}) < ${mostTargets}
        ON CONFLICT (sandbox_id, host, port) DO NOTHING`,
    );
  }

  targets(sandboxId: string): readonly SeenTarget[] {
    const rows = this.#ledger.read(
      (sql) => sql.all`SELECT host, port, private FROM egress_learned
        WHERE sandbox_id = ${sandboxId} ORDER BY host, port`,
    );
    return rows.map((row) => {
      const { host, port, private: isPrivate } = rowSchema.parse(row);
      return { host, port, private: isPrivate === 1 };
    });
  }

  forget(sandboxId: string): void {
    this.#ledger.write((sql) => sql.run`DELETE FROM egress_learned WHERE sandbox_id = ${sandboxId}`);
  }
}

const rowSchema = z.object({ host: z.string(), port: z.number(), private: z.number() });

/** The least that lets all of these pass: each host with its ports, and nothing beside them. Denied stays denied. */
export function smallestPolicy(policy: EgressPolicy, seen: readonly SeenTarget[]): EgressPolicy {
  return { ...policy, mode: seen.length === 0 ? 'deny-all' : 'allow-list', allow: rulesFor(seen) };
}

function rulesFor(seen: readonly SeenTarget[]): readonly EgressRule[] {
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

/** A rule takes so many ports. */
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
