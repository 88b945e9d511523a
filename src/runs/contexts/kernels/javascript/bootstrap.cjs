const fs = require('node:fs');
const vm = require('node:vm');
let line = Buffer.alloc(0);
while (!line.includes(10)) {
  const piece = Buffer.alloc(65536);
  const length = fs.readSync(0, piece);
  if (length === 0) process.exit(0);
  line = Buffer.concat([line, piece.subarray(0, length)]);
}
const hello = JSON.parse(line.toString());
const parts = new Map(hello.parts);
const load = (name) => {
  if (!parts.has(name)) return require(name);
  const exports = {};
  const filename = `geode:${name.slice(2)}`;
  vm.compileFunction(parts.get(name), ['require', 'exports'], { filename })(load, exports);
  return exports;
};
load('./kernel.cjs').serve({
  ...hello,
  controlSource: parts.get('./control.cjs'),
  importModule: (specifier, options) => import(specifier, options),
});
