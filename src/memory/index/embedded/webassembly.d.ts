/** The part of WebAssembly that is used here; Node has it, and its types come only with those of a browser. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Memory {
    readonly buffer: ArrayBuffer;
    grow(pages: number): number;
  }
  class Instance {
    constructor(module: Module);
    readonly exports: Readonly<Record<string, Memory | ((...values: number[]) => number)>>;
  }
}
