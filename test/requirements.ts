/**
 * The promises, by id, and which of them are kept. An id is claimed when tests on the real thing name it and
 * pass, in every suite that proves it (proofs.ts); the gate (requirements-reporter.ts) fails a run in which that is
 * not so, or in which a test names an id that is not here.
 */
const groups: Readonly<Record<string, { readonly count: number; readonly claimed: readonly number[] }>> = {
  RT: { count: 12, claimed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] },
  SH: { count: 6, claimed: [1, 2, 3, 4, 5, 6] },
  GL: { count: 8, claimed: [1, 2, 3, 4, 5, 6, 7, 8] },
  RUN: { count: 10, claimed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
  SBX: { count: 10, claimed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] },
  PROC: { count: 3, claimed: [1, 2, 3] },
  FS: { count: 3, claimed: [1, 2, 3] },
  NET: { count: 7, claimed: [1, 2, 3, 4, 5, 6, 7] },
  MCP: { count: 6, claimed: [1, 2, 3, 4, 5] },
  AGT: { count: 7, claimed: [1, 2, 3, 4, 5, 6, 7] },
  SLV: { count: 4, claimed: [1, 2, 3, 4] },
  CRY: { count: 5, claimed: [1, 2, 3, 4, 5] },
  MEM: { count: 9, claimed: [1, 2, 3, 4, 5, 6, 8, 9] },
  CTX: { count: 4, claimed: [1, 2, 3, 4] },
  GW: { count: 5, claimed: [1, 2, 3, 4, 5] },
  CH: { count: 1, claimed: [1] },
  CA: { count: 5, claimed: [1, 2, 3, 4, 5] },
  CFG: { count: 1, claimed: [1] },
  CLI: { count: 2, claimed: [1, 2] },
  API: { count: 3, claimed: [1, 2, 3] },
  UI: { count: 4, claimed: [1, 2, 3, 4] },
  OCI: { count: 5, claimed: [1, 2, 3, 4, 5] },
  SC: { count: 5, claimed: [] },
  OPS: { count: 6, claimed: [2, 3, 4, 6] },
  DR: { count: 5, claimed: [3, 5] },
  SEC: { count: 3, claimed: [2, 3] },
  REL: { count: 3, claimed: [1] },
  PERF: { count: 3, claimed: [] },
  PKG: { count: 1, claimed: [1] },
};

export const allIds: ReadonlySet<string> = new Set(
  Object.entries(groups).flatMap(([group, { count }]) =>
    Array.from({ length: count }, (_, index) => `${group}-${index + 1}`),
  ),
);

export const claimedIds: ReadonlySet<string> = new Set(
  Object.entries(groups).flatMap(([group, { claimed }]) => claimed.map((number) => `${group}-${number}`)),
);

/** `RT-1`, wherever it stands; not `GPT-4` and the like. */
export const idPattern = new RegExp(`\\b(?:${Object.keys(groups).join('|')})-\\d+\\b`, 'g');
