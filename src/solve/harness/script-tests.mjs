/** The process of the tests: the answer is in another one, which finds neither them nor what they expect. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';

const { file, tests, secret, answer, guest } = JSON.parse(readFileSync(0, 'utf8'));
const here = pathToFileURL(`${process.cwd()}/`);
// Before the answer runs, so that it changes none of them.
for (const [, name] of tests.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"./][^'"]*)['"]/g))
  await import(import.meta.resolve(name)).catch(() => {});

const folder = mkdtempSync(join(tmpdir(), 'tests-'));
const pipes = ['asked', 'told', 'replied'].map((name) => join(folder, name));
const { status } = spawnSync('mkfifo', pipes, { stdio: 'inherit' });
if (status !== 0) throw new Error('mkfifo is missing: the tests cannot be kept apart from the answer.');
// It may not look into this process, where the tests are.
const apart = existsSync(guest) ? [guest, 'apart'] : [];
const [program, ...args] = [...apart, process.execPath, '--input-type=module', '-e', answer, '--', ...pipes];
spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }).unref();
const asking = openSync(pipes[0], 'w');
const told = openSync(pipes[1], 'r');
const replying = openSync(pipes[2], 'w');
rmSync(folder, { recursive: true, force: true });

const write = (fd, message) => {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
};
const decoder = new TextDecoder();
const piece = Buffer.alloc(65536);
let rest = '';
const receive = () => {
  for (;;) {
    const end = rest.indexOf('\n');
    if (end >= 0) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      return JSON.parse(line);
    }
    const length = readSync(told, piece);
    if (length === 0) {
      process.stderr.write('The answer ended before the tests were through.\n');
      process.exit(1);
    }
    rest += decoder.decode(piece.subarray(0, length), { stream: true });
  }
};

/** An unsettled promise with its functions. */
const open = () => {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};
const handles = new Map();
const handleNumbers = new Map();
const refNumbers = new WeakMap();
const refs = new Map();
const promises = new Map();
const isWaiting = () => [...promises.values()].some(({ isSettled }) => isSettled !== true);
/** How often in all, every 5 ms, for what nobody awaits. */
const mostWaits = 1000;
let pump;
let isLoaded = false;
let waits = 0;
let settled = [];
let table = [];
const keep = (value) => {
  if (!handleNumbers.has(value)) {
    handleNumbers.set(value, handleNumbers.size + 1);
    handles.set(handleNumbers.get(value), value);
  }
  return handleNumbers.get(value);
};
const known = ['iterator', 'asyncIterator', 'toPrimitive', 'hasInstance', 'toStringTag'];
const isPlain = (v) => {
  const kind = Object.getPrototypeOf(v);
  if (kind !== Object.prototype && kind !== null) return false;
  return Reflect.ownKeys(v).every((key) => {
    const { value, get } = Object.getOwnPropertyDescriptor(v, key);
    return typeof key === 'string' && get === undefined && typeof value !== 'function';
  });
};
const pack = (v, depth = 0) => {
  if (v === null || typeof v === 'boolean' || typeof v === 'string') return v;
  if (v === undefined) return { undefined: 1 };
  if (typeof v === 'number')
    return Number.isFinite(v) && !Object.is(v, -0) ? v : { number: Object.is(v, -0) ? '-0' : String(v) };
  if (typeof v === 'bigint') return { bigint: String(v) };
  if (typeof v === 'symbol') return { symbol: known.find((each) => Symbol[each] === v) ?? 'unscopables' };
  if (refNumbers.has(v)) return { p: refNumbers.get(v) };
  const at = table.indexOf(v);
  if (at >= 0) return { a: at };
  const inside = (values) => values.map((each) => pack(each, depth + 1));
  const listed = () => ({ at: table.push(v) - 1 });
  if (depth < 200) {
    if (Array.isArray(v)) return { array: null, ...listed(), ...{ array: inside(Array.from(v)) } };
    if (v instanceof Map) return { map: null, ...listed(), ...{ map: [...v].map(inside) } };
    if (v instanceof Set) return { set: null, ...listed(), ...{ set: inside([...v]) } };
    if (v instanceof Date) return { date: v.getTime() };
    if (v instanceof RegExp) return { regexp: [v.source, v.flags] };
    if (ArrayBuffer.isView(v) && !(v instanceof DataView))
      return {
        bytes: [v.constructor.name, Buffer.from(v.buffer, v.byteOffset, v.byteLength).toString('base64')],
      };
    if (v instanceof Error)
      return { error: [v.constructor?.name ?? 'Error', v.name, v.message, '', keep(v)], own: [] };
    if (typeof v === 'object' && isPlain(v)) {
      const message = { object: null, ...listed(), bare: Object.getPrototypeOf(v) === null };
      message.object = Object.entries(v).map(([key, each]) => [key, pack(each, depth + 1)]);
      return message;
    }
  }
  if (v instanceof Promise) {
    const number = keep(v);
    v.then(
      (value) => settled.push({ of: number, value: pack(value) }),
      (error) => settled.push({ of: number, error: pack(error) }),
    );
    return { promise: number };
  }
  return { h: keep(v), kind: typeof v };
};
const numberKinds = /^(?:Buffer|(?:Big)?(?:Ui|I)nt(?:8|16|32|64)(?:Clamped)?Array|Float(?:16|32|64)Array)$/;
const unpack = (m) => {
  if (m === null || typeof m !== 'object') return m;
  const [kind] = Object.keys(m);
  const v = m[kind];
  if (kind === 'undefined') return undefined;
  if (kind === 'number') return Number(v);
  if (kind === 'bigint') return BigInt(v);
  if (kind === 'symbol') return known.includes(v) ? Symbol[v] : Symbol.unscopables;
  if (kind === 'array') return v.map(unpack);
  if (kind === 'object') {
    const made = m.bare ? Object.create(null) : {};
    for (const [key, each] of v)
      Object.defineProperty(made, key, {
        value: unpack(each),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    return made;
  }
  if (kind === 'map') return new Map(v.map(([key, each]) => [unpack(key), unpack(each)]));
  if (kind === 'set') return new Set(v.map(unpack));
  if (kind === 'date') return new Date(v);
  if (kind === 'regexp') return new RegExp(v[0], v[1]);
  if (kind === 'bytes' && numberKinds.test(v[0])) {
    const bytes = Buffer.from(v[1], 'base64');
    return v[0] === 'Buffer' ? bytes : new globalThis[v[0]](new Uint8Array(bytes).buffer);
  }
  if (kind === 'a') return table[v];
  if (kind === 'h') return handles.get(v);
  if (kind === 'error') return errorOf(m);
  if (kind === 'promise') {
    if (!promises.has(v)) promises.set(v, open());
    // While the tests may wait for it, this process goes on.
    pump?.ref();
    return promises.get(v).promise;
  }
  return refOf(v, m.kind);
};
const errorOf = ({ error: [kind, name, message, stack, number], own, cause }) => {
  const builtin = globalThis[kind];
  const isError = typeof builtin === 'function' && (builtin === Error || builtin.prototype instanceof Error);
  const error = new (isError ? builtin : Error)(
    message,
    cause === undefined ? undefined : { cause: unpack(cause) },
  );
  if (error.name !== name)
    Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  for (const [key, each] of own) error[key] = unpack(each);
  error.stack = String(stack);
  refNumbers.set(error, number);
  return error;
};
const refOf = (number, kind) => {
  if (refs.has(number)) return refs.get(number);
  const target = kind === 'function' ? function theirs() {} : {};
  const proxy = new Proxy(target, {
    apply: (_, self, args) => ask('call', number, [self === globalThis ? undefined : self, ...args]),
    construct: (_, args) => ask('new', number, args),
    get(_, key) {
      if (key === Symbol.hasInstance)
        return (value) => refNumbers.has(value) && ask('instance', number, [value]) === true;
      return ask('get', number, [key]);
    },
    set: (_, key, value) => ask('set', number, [key, value]),
    has: (_, key) => ask('has', number, [key]),
    deleteProperty: (_, key) => ask('delete', number, [key]),
    ownKeys: () => [...new Set([...ask('keys', number, []), ...(kind === 'function' ? ['prototype'] : [])])],
    getOwnPropertyDescriptor(_, key) {
      if (kind === 'function' && key === 'prototype') return Reflect.getOwnPropertyDescriptor(target, key);
      const found = typeof key === 'string' ? ask('described', number, [key]) : undefined;
      return found && { ...found, value: ask('get', number, [key]), configurable: true };
    },
  });
  refs.set(number, proxy);
  refNumbers.set(proxy, number);
  return proxy;
};

const copyInto = (own, now) => {
  if (Array.isArray(own)) own.splice(0, own.length, ...now);
  else if (own instanceof Map || own instanceof Set) {
    own.clear();
    for (const each of now) own instanceof Map ? own.set(...each) : own.add(each);
  } else {
    for (const key of Object.keys(own)) if (!Object.hasOwn(now, key)) delete own[key];
    Object.assign(own, now);
  }
};
const ask = (op, of, args) => {
  const before = table;
  table = [];
  try {
    const message = { ask: op, of, args: args.map((each) => pack(each)), settled };
    settled = [];
    write(asking, message);
    for (;;) {
      const answered = receive();
      if ('ask' in answered) {
        write(replying, served(answered));
        continue;
      }
      (answered.now ?? []).forEach((now, at) => {
        if (now !== null && table[at] !== undefined) copyInto(table[at], unpack(now));
      });
      for (const { of: number, value, error } of answered.settled ?? []) {
        if (!promises.has(number)) promises.set(number, open());
        const made = promises.get(number);
        const { promise, resolve, reject } = made;
        made.isSettled = true;
        promise.catch(() => {});
        if (error === undefined) resolve(unpack(value));
        else reject(unpack(error));
      }
      if ('raised' in answered) throw unpack(answered.raised);
      return unpack(answered.value);
    }
  } finally {
    table = before;
  }
};
const served = ({ ask: op, of, args }) => {
  try {
    return { value: pack(serve(op, handles.get(of), args.map(unpack))) };
  } catch (error) {
    return { raised: pack(error) };
  }
};
const hidden = ['constructor', 'prototype', 'caller', 'callee', 'arguments', 'toString', 'toSource', 'stack'];
const serve = (op, own, [first, ...more]) => {
  if (op === 'console') return void console[first](...more);
  if (op === 'call' && typeof own === 'function') return Reflect.apply(own, first, more);
  if (op === 'new' && typeof own === 'function') return Reflect.construct(own, [first, ...more]);
  if (own === null || own === undefined) return undefined;
  // The text of a function says what the tests expect.
  if (op === 'get' && typeof own === 'function')
    return ['name', 'length'].includes(first) ? own[first] : undefined;
  const isOpen =
    typeof first === 'symbol' ||
    (typeof first === 'string' && !hidden.includes(first) && !first.startsWith('_'));
  if (!isOpen || typeof own === 'function') return undefined;
  if (op === 'get') return own[first];
  if (op === 'has') return first in own;
  if (op === 'set') own[first] = more[0];
  return undefined;
};

const shared = Symbol.for('geode answer');
globalThis[shared] = {};
const testsUrl = new URL(`tests-${process.pid}${file.slice('solution'.length)}`, here).href;
const isApart = /['"]\.\/solution(?:\.\w+)?['"]/.test(tests);
const load = (name) => {
  const { names, exported } = ask('import', 0, [name]);
  globalThis[shared][name] = Object.fromEntries(names.map(([key, { own }]) => [key, ask('held', own, [])]));
  return exported;
};
const stubOf = (name) => {
  const exported = load(name);
  const from = `globalThis[Symbol.for('geode answer')][${JSON.stringify(name)}]`;
  return exported
    .map((key) =>
      key === 'default' ? `export default ${from}.default;` : `export const ${key} = ${from}.${key};`,
    )
    .join('\n');
};
const declared = (name) =>
  new RegExp(
    `^\\s*(?:export\\s+)?(?:async\\s+)?(?:function\\*?|class|const|let|var)\\s+${name.replaceAll('$', '\\$')}\\b`,
    'm',
  ).test(tests);
/** Modules that are on no disk: the tests, and what they import of the answer. */
const sources = {};
const aliases = {};
for (const [, name] of tests.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.{0,2}\/[^'"]*)['"]/g)) {
  const own = /^\.\/solution(?:\.\w+)?$/.test(name) ? `./${file}` : name;
  aliases[name] = `answer:${own}`;
  sources[`answer:${own}`] ??= { format: 'module', source: stubOf(own) };
}
/** Global names of JavaScript and Node, except names that a solution may use. */
const builtIn = new Set([
  ...runInNewContext('Object.getOwnPropertyNames(globalThis)'),
  ...['Buffer', 'clearInterval', 'clearTimeout', 'global', 'performance', 'process', 'queueMicrotask'],
  ...['require', 'setImmediate', 'setInterval', 'setTimeout', 'structuredClone'],
]);
for (const name of ['escape', 'unescape']) builtIn.delete(name);
const withNames = () => {
  load(`./${file}`);
  const held = `globalThis[Symbol.for('geode answer')][${JSON.stringify(`./${file}`)}]`;
  const names = Object.keys(globalThis[shared][`./${file}`]).filter(
    (name) => name !== 'default' && tests.includes(name) && !declared(name) && !builtIn.has(name),
  );
  return `const { ${names.join(', ')} } = ${held}; ${tests}`;
};
sources[testsUrl] = {
  format: testsUrl.endsWith('.mts') ? 'module-typescript' : 'module',
  source: isApart ? tests : withNames(),
};
const hooks = `
let given;
export function initialize(data) { given = data; }
export function resolve(name, context, next) {
  const url = name in given.sources ? name : context.parentURL === given.tests ? given.aliases[name] : undefined;
  return url === undefined ? next(name, context) : { url, shortCircuit: true };
}
export function load(url, context, next) {
  return url in given.sources ? { ...given.sources[url], shortCircuit: true } : next(url, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
  parentURL: import.meta.url,
  data: { sources, aliases, tests: testsUrl },
});
// Run the answer's later work, by timers and promises, in between.
pump = setInterval(() => {
  ask('pump', 0, []);
  if (!isLoaded) return;
  waits += 1;
  if (!isWaiting() || waits > mostWaits) pump.unref();
}, 5);
try {
  await import(testsUrl);
} catch (error) {
  process.stderr.write(`${error?.stack ?? error}\n`);
  process.exit(1);
}
isLoaded = true;

// Unawaited work continues, including tests of node:test. A failure there ends this process with a non-zero code.
process.on('exit', (code) => {
  if (code === 0) writeSync(1, `\n${secret}\n`);
});
