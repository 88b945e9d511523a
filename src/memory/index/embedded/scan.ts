/** The loops of `scan.wat`; each instance has its own memory. Offsets and sizes are in bytes. */
import { readFileSync } from 'node:fs';

export interface Scan {
  readonly memory: WebAssembly.Memory;
  dots(query: number, rows: number, count: number, dims: number, out: number): void;
  dotsAt(query: number, rows: number, list: number, count: number, dims: number, out: number): void;
  fetchAt(rows: number, list: number, count: number, dims: number, scales: number, owners: number): number;
  fineAt(
    query: number,
    rows: number,
    tails: number,
    list: number,
    count: number,
    dims: number,
    out: number,
  ): void;
  estimates(
    tables: number,
    signs: number,
    blocks: number,
    size: number,
    mask: number,
    factors: number,
    offsets: number,
    step: number,
    base: number,
    out: number,
  ): void;
  tally(estimates: number, count: number, stride: number, tally: number): void;
  /** Returns how many it listed. */
  select(estimates: number, blocks: number, limit: number, list: number): number;
}

const PAGE = 65_536;

export function newScan(bytes: number): Scan {
  const { exports } = new WebAssembly.Instance(compiled());
  const { memory } = exports;
  if (!(memory instanceof WebAssembly.Memory)) throw new TypeError('scan.wasm has no memory');
  memory.grow(Math.ceil(bytes / PAGE));
  const loop = (name: string) => {
    const found = exports[name];
    if (typeof found !== 'function') throw new TypeError(`scan.wasm has no ${name}`);
    return found;
  };
  return {
    memory,
    dots: loop('dots'),
    dotsAt: loop('dotsAt'),
    fetchAt: loop('fetchAt'),
    fineAt: loop('fineAt'),
    estimates: loop('estimates'),
    tally: loop('tally'),
    select: loop('select'),
  };
}

let module: WebAssembly.Module | undefined;
function compiled(): WebAssembly.Module {
  module ??= new WebAssembly.Module(readFileSync(new URL('./scan.wasm', import.meta.url)));
  return module;
}
