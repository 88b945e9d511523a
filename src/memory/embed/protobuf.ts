/** The parts of the protobuf wire format needed to take a message apart and put it together again. */
export interface ProtoField {
  readonly number: number;
  /** Tag and content as read. */
  readonly raw: Uint8Array;
  /** The content of a length-delimited field, else empty. */
  readonly bytes: Uint8Array;
  /** The content of a varint field, else 0. */
  readonly value: number;
}

const NOTHING = new Uint8Array();

export function readFields(message: Uint8Array): ProtoField[] {
  const fields: ProtoField[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = message[at];
      if (byte === undefined) throw new RangeError('The message ends inside a number.');
      at += 1;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const start = at;
    const tag = varint();
    let bytes: Uint8Array = NOTHING;
    let value = 0;
    const wire = tag & 7;
    if (wire === 0) value = varint();
    else if (wire === 2) {
      const length = varint();
      bytes = message.subarray(at, at + length);
      at += length;
    } else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else throw new RangeError(`The message has a field of the unknown kind ${wire}.`);
    if (at > message.length) throw new RangeError('The message ends inside a field.');
    fields.push({ number: Math.floor(tag / 8), raw: message.subarray(start, at), bytes, value });
  }
  return fields;
}

export function fieldVarint(number: number, value: number): Uint8Array {
  return Uint8Array.from([...varintBytes(number * 8), ...varintBytes(value)]);
}

export function fieldFloat(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return concatFields([Uint8Array.from(varintBytes(number * 8 + 5)), bytes]);
}

export function fieldText(number: number, text: string): Uint8Array {
  return fieldBytes(number, new TextEncoder().encode(text));
}

export function fieldBytes(number: number, bytes: Uint8Array): Uint8Array {
  return concatFields([
    Uint8Array.from([...varintBytes(number * 8 + 2), ...varintBytes(bytes.length)]),
    bytes,
  ]);
}

export function concatFields(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

function varintBytes(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}
