/** Reads OTLP's trace request from protobuf into its JSON form, without trusting the sender. */
import { GeodeError } from '../base/errors.ts';

type Scalar = 'text' | 'hex' | 'base64' | 'number' | 'int64' | 'bool' | 'double' | 'fixed64' | 'fixed32';
type Field =
  | readonly [name: string, type: Scalar]
  | readonly [name: string, type: Message]
  | readonly [name: string, type: 'list', of: Message];
/** By field number. A function, because a value may contain values. */
type Message = () => Readonly<Record<number, Field>>;

const value: Message = () => ({
  1: ['stringValue', 'text'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'int64'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', () => ({ 1: ['values', 'list', value] })],
  6: ['kvlistValue', () => ({ 1: ['values', 'list', attribute] })],
  7: ['bytesValue', 'base64'],
});
const attribute: Message = () => ({ 1: ['key', 'text'], 2: ['value', value] });
const event: Message = () => ({
  1: ['timeUnixNano', 'fixed64'],
  2: ['name', 'text'],
  3: ['attributes', 'list', attribute],
});
const link: Message = () => ({
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  4: ['attributes', 'list', attribute],
});
const span: Message = () => ({
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'number'],
  7: ['startTimeUnixNano', 'fixed64'],
  8: ['endTimeUnixNano', 'fixed64'],
  9: ['attributes', 'list', attribute],
  11: ['events', 'list', event],
  13: ['links', 'list', link],
  15: ['status', () => ({ 2: ['message', 'text'], 3: ['code', 'number'] })],
  16: ['flags', 'fixed32'],
});
const scopeSpans: Message = () => ({
  1: ['scope', () => ({ 1: ['name', 'text'], 2: ['version', 'text'] })],
  2: ['spans', 'list', span],
});
const resourceSpans: Message = () => ({
  1: ['resource', () => ({ 1: ['attributes', 'list', attribute] })],
  2: ['scopeSpans', 'list', scopeSpans],
});
const request: Message = () => ({ 1: ['resourceSpans', 'list', resourceSpans] });

/** A request may have this many fields, so that a small one cannot become a large object. */
const mostFields = 200_000;
const deepest = 24;

/** Throws `invalid_input`. */
export function readTraceRequest(bytes: Uint8Array): unknown {
  return readMessage(new Reader(bytes), request, 0);
}

function readMessage(reader: Reader, message: Message, depth: number): Record<string, unknown> {
  if (depth > deepest) throw malformed('it is nested too deep');
  const fields = message();
  const found: Record<string, unknown> = {};
  const lists = new Map<string, unknown[]>();
  while (!reader.isAtEnd) {
    const tag = reader.number();
    const [number, wire] = [tag >>> 3, tag & 7];
    const field = fields[number];
    if (field === undefined || number === 0) {
      reader.skip(wire, number);
      continue;
    }
    const [name, type, of] = field;
    if (type === 'list') {
      const list = lists.get(name) ?? [];
      list.push(readMessage(reader.inner(wire), of, depth + 1));
      lists.set(name, list);
      found[name] = list;
    } else if (typeof type === 'function') {
      found[name] = readMessage(reader.inner(wire), type, depth + 1);
    } else found[name] = readScalar(reader, type, wire);
  }
  return found;
}

function readScalar(reader: Reader, type: Scalar, wire: number): unknown {
  if (type === 'text') return reader.bytes(wire).toString('utf8');
  if (type === 'hex') return reader.bytes(wire).toString('hex');
  if (type === 'base64') return reader.bytes(wire).toString('base64');
  if (type === 'fixed64') return `${reader.fixed(wire, 1, 8).readBigUInt64LE()}`;
  if (type === 'double') return reader.fixed(wire, 1, 8).readDoubleLE();
  if (type === 'fixed32') return reader.fixed(wire, 5, 4).readUInt32LE();
  if (wire !== 0) throw malformed('a number has another type');
  const read = reader.varint();
  if (type === 'bool') return read !== 0n;
  return type === 'int64' ? `${BigInt.asIntN(64, read)}` : Number(BigInt.asIntN(32, read));
}

class Reader {
  readonly #bytes: Buffer;
  readonly #spent: { fields: number };
  #at = 0;

  constructor(bytes: Uint8Array, spent = { fields: 0 }) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#spent = spent;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  varint(): bigint {
    let read = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw malformed('it ends too early');
      this.#at += 1;
      read |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, read);
    }
    throw malformed('a number is too long');
  }

  /** A tag or a length. */
  number(): number {
    this.#spent.fields += 1;
    if (this.#spent.fields > mostFields) throw malformed(`it has more than ${mostFields} fields`);
    const first = this.#bytes[this.#at];
    if (first !== undefined && first < 0x80) {
      this.#at += 1;
      return first;
    }
    const read = this.varint();
    if (read > 0x7fff_ffffn) throw malformed('a length is too large');
    return Number(read);
  }

  bytes(wire: number): Buffer {
    if (wire !== 2) throw malformed('a text has another type');
    return this.#take(this.number());
  }

  inner(wire: number): Reader {
    return new Reader(this.bytes(wire), this.#spent);
  }

  fixed(wire: number, wanted: number, size: number): Buffer {
    if (wire !== wanted) throw malformed('a number has another type');
    return this.#take(size);
  }

  skip(wire: number, field: number): void {
    if (field === 0) throw malformed('a field has no number');
    if (wire === 0) this.varint();
    else if (wire === 1) this.#take(8);
    else if (wire === 2) this.#take(this.number());
    else if (wire === 5) this.#take(4);
    else throw malformed('a field has an unknown type');
  }

  #take(size: number): Buffer {
    if (this.#at + size > this.#bytes.length) throw malformed('it ends too early');
    const taken = this.#bytes.subarray(this.#at, this.#at + size);
    this.#at += size;
    return taken;
  }
}

function malformed(why: string): GeodeError {
  return new GeodeError('invalid_input', `The request is not an OTLP trace request in protobuf: ${why}.`);
}
