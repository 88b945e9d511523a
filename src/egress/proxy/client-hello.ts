/** The unencrypted part of a TLS client's first message. */
export interface ClientHello {
  /** Lower case; undefined if the client names no server. */
  readonly serverName: string | undefined;
  /** An encrypted second name is hidden in it. */
  readonly encryptedHello: boolean;
  /** Protocols above TLS that it offers; undefined if it names none. */
  readonly protocols: readonly string[] | undefined;
}

const handshakeRecord = 22;
const clientHelloMessage = 1;
const serverNameExtension = 0;
const protocolsExtension = 16;
const encryptedHelloExtension = 0xfe0d;
/** Maximum size. Real ones are below 2 kB. */
const largestHello = 64 * 1024;

/** `more`: incomplete. `broken`: not a valid ClientHello. */
export function readClientHello(bytes: Buffer): ClientHello | 'more' | 'broken' {
  if (bytes.length > largestHello) return 'broken';
  const message = handshakeOf(bytes);
  if (message === 'more' || message === 'broken') return message;
  try {
    return parseHello(message);
  } catch {
    return 'broken';
  }
}

/** Joins the records until the message is complete. */
function handshakeOf(bytes: Buffer): Buffer | 'more' | 'broken' {
  const parts: Buffer[] = [];
  let length = 0;
  for (let at = 0; ; ) {
    if (bytes.length > at && bytes[at] !== handshakeRecord) return 'broken';
    if (bytes.length < at + 5) return 'more';
    if (bytes[at + 1] !== 3) return 'broken';
    const size = bytes.readUInt16BE(at + 3);
    if (size === 0) return 'broken';
    const part = bytes.subarray(at + 5, at + 5 + size);
    parts.push(part);
    length += part.length;
    const message = parts.length === 1 ? part : Buffer.concat(parts, length);
    if (message.length > 0 && message[0] !== clientHelloMessage) return 'broken';
    if (message.length >= 4) {
      const wanted = 4 + message.readUIntBE(1, 3);
      if (wanted > largestHello) return 'broken';
      if (message.length >= wanted) return message.subarray(4, wanted);
    }
    at += 5 + size;
    if (at > bytes.length) return 'more';
  }
}

function parseHello(message: Buffer): ClientHello | 'broken' {
  const reader = new Reader(message);
  reader.skip(2 + 32);
  reader.skip(reader.number(1));
  reader.skip(reader.number(2));
  reader.skip(reader.number(1));
  let serverName: string | undefined;
  let encryptedHello = false;
  let protocols: readonly string[] | undefined;
  if (reader.left === 0) return { serverName, encryptedHello, protocols };
  const extensions = new Reader(reader.take(reader.number(2)));
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const content = new Reader(extensions.take(extensions.number(2)));
    if (type === encryptedHelloExtension) encryptedHello = true;
    if (type === protocolsExtension) protocols = protocolsIn(content);
    if (type !== serverNameExtension) continue;
    // With two names, two readers could choose different ones.
    if (serverName !== undefined) return 'broken';
    const names = new Reader(content.take(content.number(2)));
    if (names.number(1) !== 0) return 'broken';
    serverName = names.take(names.number(2)).toString('latin1').toLowerCase();
    if (names.left > 0 || content.left > 0) return 'broken';
  }
  return { serverName, encryptedHello, protocols };
}

function protocolsIn(content: Reader): readonly string[] {
  const list = new Reader(content.take(content.number(2)));
  const protocols: string[] = [];
  while (list.left > 0) protocols.push(list.take(list.number(1)).toString('latin1'));
  return protocols;
}

/** Throws if fewer bytes are left than requested. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  number(size: number): number {
    return this.take(size).readUIntBE(0, size);
  }

  skip(size: number): void {
    this.take(size);
  }

  take(size: number): Buffer {
    if (size > this.left) throw new RangeError('the message ends too early');
    const taken = this.#bytes.subarray(this.#at, this.#at + size);
    this.#at += size;
    return taken;
  }
}
