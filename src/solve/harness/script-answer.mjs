/** The process of the answer: loads it and does what the process of the tests asks, over named pipes. */
const { openSync, readSync, writeSync } = await import('node:fs');
const { Socket } = await import('node:net');
const { createInterface } = await import('node:readline');
const { pathToFileURL } = await import('node:url');
const [requests, answers, replies] = process.argv.slice(1, 4);
process.argv.splice(1);
const asked = openSync(requests, 'r');
const telling = openSync(answers, 'w');
const replied = openSync(replies, 'r');

const send = (message) => {
  const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < bytes.length; ) at += writeSync(telling, bytes, at);
};
const lineFrom = (fd, state) => {
  const piece = Buffer.alloc(65536);
  for (;;) {
    const end = state.rest.indexOf('\n');
    if (end >= 0) {
      const line = state.rest.slice(0, end);
      state.rest = state.rest.slice(end + 1);
      return line;
    }
    const length = readSync(fd, piece);
    if (length === 0) process.exit(0);
    state.rest += state.decoder.decode(piece.subarray(0, length), { stream: true });
  }
};
const fresh = () => ({ rest: '', decoder: new TextDecoder() });
const replyState = fresh();

const kept = new Map();
const numbers = new Map();
const keep = (value) => {
  if (!numbers.has(value)) {
    numbers.set(value, numbers.size + 1);
    kept.set(numbers.get(value), value);
  }
  return numbers.get(value);
};
const theirs = new Map();
const theirNumbers = new WeakMap();
const waiting = new Map();
let settled = [];
let given = [];

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
  if (typeof v === 'symbol') {
    const name = known.find((each) => Symbol[each] === v);
    return name ? { symbol: name } : { r: keep(v), kind: 'object' };
  }
  if (theirNumbers.has(v)) return { h: theirNumbers.get(v) };
  const at = given.indexOf(v);
  if (at >= 0) return { a: at };
  const inside = (values) => values.map((each) => pack(each, depth + 1));
  if (depth < 200) {
    if (Array.isArray(v) && Object.getPrototypeOf(v) === Array.prototype)
      return { array: inside(Array.from(v)) };
    if (v instanceof Date && Object.getPrototypeOf(v) === Date.prototype) return { date: v.getTime() };
    if (v instanceof RegExp) return { regexp: [v.source, v.flags] };
    if (v instanceof Map && Object.getPrototypeOf(v) === Map.prototype) return { map: [...v].map(inside) };
    if (v instanceof Set && Object.getPrototypeOf(v) === Set.prototype) return { set: inside([...v]) };
    if (ArrayBuffer.isView(v) && !(v instanceof DataView))
      return {
        bytes: [v.constructor.name, Buffer.from(v.buffer, v.byteOffset, v.byteLength).toString('base64')],
      };
    if (v instanceof Error) return packError(v, depth);
    if (typeof v === 'object' && isPlain(v))
      return {
        object: Object.entries(v).map(([key, each]) => [key, pack(each, depth + 1)]),
        bare: Object.getPrototypeOf(v) === null,
      };
  }
  if (v instanceof Promise) {
    const number = keep(v);
    if (!waiting.has(number)) {
      waiting.set(number, true);
      v.then(
        (value) => settled.push({ of: number, value: pack(value) }),
        (error) => settled.push({ of: number, error: pack(error) }),
      );
    }
    return { promise: number };
  }
  return { r: keep(v), kind: typeof v };
};
const packError = (v, depth) => ({
  error: [v.constructor?.name ?? 'Error', v.name, v.message, v.stack, keep(v)],
  own: Object.keys(v).map((key) => [key, pack(v[key], depth + 1)]),
  cause: Object.hasOwn(v, 'cause') ? pack(v.cause, depth + 1) : undefined,
});
const unpack = (m) => {
  if (m === null || typeof m !== 'object') return m;
  const [kind] = Object.keys(m);
  const v = m[kind];
  const made = {
    array: () => [],
    object: () => (m.bare ? Object.create(null) : {}),
    map: () => new Map(),
    set: () => new Set(),
  }[kind]?.();
  if (made !== undefined && m.at !== undefined) given[m.at] = made;
  if (kind === 'array') for (const each of v) made.push(unpack(each));
  if (kind === 'object') for (const [key, each] of v) made[key] = unpack(each);
  if (kind === 'map') for (const [key, each] of v) made.set(unpack(key), unpack(each));
  if (kind === 'set') for (const each of v) made.add(unpack(each));
  if (made !== undefined) return made;
  if (kind === 'undefined') return undefined;
  if (kind === 'number') return Number(v);
  if (kind === 'bigint') return BigInt(v);
  if (kind === 'symbol') return Symbol[v];
  if (kind === 'date') return new Date(v);
  if (kind === 'regexp') return new RegExp(...v);
  if (kind === 'bytes') return bytesOf(v);
  if (kind === 'error') return errorOf(m);
  if (kind === 'a') return given[v];
  if (kind === 'p') return kept.get(v);
  if (kind === 'promise') {
    return new Promise((resolve, reject) => theirs.set(v, { resolve, reject }));
  }
  return theirOf(v, m.kind);
};
const bytesOf = ([name, text]) => {
  const bytes = Buffer.from(text, 'base64');
  if (name === 'Buffer') return bytes;
  const copy = new Uint8Array(bytes).buffer;
  return new globalThis[name](copy);
};
const errorOf = ({ error: [kind, name, message, , number], own }) => {
  const error = new (typeof globalThis[kind] === 'function' ? globalThis[kind] : Error)(message);
  if (error.name !== name) error.name = name;
  for (const [key, each] of own) error[key] = unpack(each);
  theirNumbers.set(error, number);
  return error;
};
const proxies = new Map();
const theirOf = (number, kind) => {
  if (proxies.has(number)) return proxies.get(number);
  const proxy = new Proxy(kind === 'function' ? function theirs() {} : {}, {
    apply: (_, self, args) =>
      ask('call', number, [self === undefined || self === globalThis ? undefined : self, ...args]),
    construct: (_, args) => ask('new', number, args),
    get: (_, key) => ask('get', number, [key]),
    set(_, key, value) {
      ask('set', number, [key, value]);
      return true;
    },
    has: (_, key) => ask('has', number, [key]),
  });
  proxies.set(number, proxy);
  theirNumbers.set(proxy, number);
  return proxy;
};
const ask = (op, of, args) => {
  const before = given;
  send({ ask: op, of, args: args.map((each) => pack(each)) });
  const told = JSON.parse(lineFrom(replied, replyState));
  given = before;
  if ('raised' in told) throw unpack(told.raised);
  return unpack(told.value);
};

const doing = {
  call: (own, [self, ...args]) => Reflect.apply(own, self, args),
  new: (own, args) => Reflect.construct(own, args),
  get: (own, [key]) => own[key],
  set: (own, [key, value]) => Reflect.set(own, key, value),
  has: (own, [key]) => key in own,
  delete: (own, [key]) => Reflect.deleteProperty(own, key),
  keys: (own) => Reflect.ownKeys(own).filter((key) => typeof key === 'string'),
  described: (own, [key]) => {
    const found = Object.getOwnPropertyDescriptor(own, key);
    return found && { enumerable: found.enumerable, writable: true };
  },
  instance: (own, [value]) => value instanceof own,
  pump: () => undefined,
  import: async (_, [name]) => {
    const module = await import(new URL(name, pathToFileURL(`${process.cwd()}/`)).href);
    const { geodeNames = {}, ...exported } = module;
    return {
      names: [...Object.entries({ ...geodeNames, ...exported })]
        .filter(([, each]) => each !== undefined)
        .map(([key, each]) => [key, { own: keep({ each }) }]),
      exported: Object.keys(exported),
    };
  },
};
doing.held = (own) => own.each;

const serve = async (message) => {
  for (const { of, value, error } of message.settled ?? []) {
    const { resolve, reject } = theirs.get(of) ?? {};
    if (error === undefined) resolve?.(unpack(value));
    else reject?.(unpack(error));
  }
  const told = {};
  given = [];
  const before = [];
  try {
    const args = message.args.map(unpack);
    const mine = given;
    given = [];
    for (const each of mine) before.push([each, JSON.stringify(pack(each))]);
    given = mine;
    const result = doing[message.ask](kept.get(message.of), args);
    told.value = pack(message.ask === 'import' ? await result : result);
  } catch (error) {
    told.raised = pack(error);
  }
  given = [];
  told.now = before.map(([each, was]) => {
    const now = JSON.stringify(pack(each));
    return now === was ? null : JSON.parse(now);
  });
  told.settled = settled;
  settled = [];
  send(told);
};
for (const name of ['log', 'info', 'warn', 'error', 'debug'])
  console[name] = (...args) => void ask('console', 0, [name, ...args]);
process.on('unhandledRejection', () => {});
let last = Promise.resolve();
createInterface({ input: new Socket({ fd: asked, readable: true, writable: false }) })
  .on('line', (line) => {
    const message = JSON.parse(line);
    // A module may take long to load: nothing else is asked in between.
    last = last.then(() => serve(message));
  })
  .on('close', () => process.exit(0));
