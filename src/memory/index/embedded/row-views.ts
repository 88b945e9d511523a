/** The parts of a scan's memory as arrays, created once because a search needs most of them. */
import { RANGES, type RowLayout } from './row-layout.ts';
import type { Scan } from './scan.ts';

export interface Views {
  readonly bytes: Uint8Array;
  readonly query: Int16Array;
  readonly fineQuery: Float32Array;
  readonly tables: Uint8Array;
  readonly tally: Uint32Array;
  readonly listed: Int32Array;
  readonly dots: Int32Array;
  /** The same memory as `dots`. */
  readonly products: Float32Array;
  readonly alive: Uint8Array;
  readonly accepted: Uint8Array;
  readonly owners: Int32Array;
  readonly scales: Float32Array;
  readonly factors: Float32Array;
  readonly offsets: Float32Array;
}

export function viewsOf({ memory: { buffer } }: Scan, layout: RowLayout): Views {
  const { capacity, rowBytes } = layout;
  return {
    bytes: new Uint8Array(buffer),
    query: new Int16Array(buffer, layout.query, rowBytes),
    fineQuery: new Float32Array(buffer, layout.fineQuery, rowBytes),
    tables: new Uint8Array(buffer, layout.tables, rowBytes * 4),
    tally: new Uint32Array(buffer, layout.tally, RANGES),
    listed: new Int32Array(buffer, layout.list, capacity),
    dots: new Int32Array(buffer, layout.out, capacity),
    products: new Float32Array(buffer, layout.out, capacity),
    alive: new Uint8Array(buffer, layout.alive, capacity),
    accepted: new Uint8Array(buffer, layout.accepted, capacity),
    owners: new Int32Array(buffer, layout.owners, capacity),
    scales: new Float32Array(buffer, layout.scales, capacity),
    factors: new Float32Array(buffer, layout.factors, capacity),
    offsets: new Float32Array(buffer, layout.offsets, capacity),
  };
}
