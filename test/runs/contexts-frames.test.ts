import { describe, expect, it } from 'vitest';
import { type FramePiece, KernelFrames } from '../../src/runs/contexts/frames.ts';

const token = 'ab'.repeat(16);
const frame = (text: string, kind = '.') =>
  `\u001e${token}${kind}${Buffer.byteLength(text).toString(16).padStart(4, '0')}${text}`;

function pieces(stream: string, chunkBytes: number): FramePiece[] {
  const reader = new KernelFrames(token, 100_000);
  const bytes = Buffer.from(stream);
  const all: FramePiece[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    all.push(...reader.read(bytes.subarray(at, at + chunkBytes)));
  }
  const left = reader.end();
  return left.length > 0 ? [...all, { type: 'output', bytes: left }] : all;
}

const outputOf = (all: FramePiece[]) =>
  Buffer.concat(all.flatMap((piece) => (piece.type === 'output' ? [piece.bytes] : []))).toString();
const messagesOf = (all: FramePiece[]) =>
  all.flatMap((piece) => (piece.type === 'message' ? [piece.json] : []));

describe('RUN-10: frames within output', () => {
  const stream = `a\u001e${frame('{"n":1}')}b\u001eab${frame('{"n"', '+')}between${frame(':2}')}\u001e${token.slice(0, 9)}`;

  it.for([1, 2, 3, 7, 40, 10_000])('RUN-10: are separated from output in chunks of %i bytes', (size) => {
    const all = pieces(stream, size);
    expect(messagesOf(all)).toEqual(['{"n":1}', '{"n":2}']);
    expect(outputOf(all)).toBe(`a\u001eb\u001eabbetween\u001e${token.slice(0, 9)}`);
  });

  it('RUN-10: output is passed on at once, except the possible start of a frame', () => {
    const reader = new KernelFrames(token, 1000);
    expect(outputOf([...reader.read(Buffer.from('prompt> '))])).toBe('prompt> ');
    expect(outputOf([...reader.read(Buffer.from('x\u001eab'))])).toBe('x');
    expect(outputOf([...reader.read(Buffer.from('c'))])).toBe('\u001eabc');
  });

  it.for([
    ['an unknown kind', `\u001e${token}?0001x`],
    ['no length', `\u001e${token}.zzzzx`],
    ['a frame over its size', `\u001e${token}.ffff`],
    ['a message over its size', frame('x'.repeat(4000), '+').repeat(30)],
  ] as const)('RUN-10: %s is refused', ([, text]) => {
    expect(() => pieces(text, 10_000)).toThrow(expect.objectContaining({ code: 'guest_protocol' }));
  });
});
