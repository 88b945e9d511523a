/** The part of WebAssembly used here. Node has it, but its types are only in those of a browser. */
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
