/**
 * A vector as it is kept: one 32-bit scale, then a byte for each dimension. A quarter of the size, and the
 * error is smaller than the difference between two neighbours (docs/memory.md has the measurement).
 */
const LARGEST = 127;

export function packVector(vector: Float32Array): Uint8Array {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  const scale = (largest || 1) / LARGEST;
  const blob = Buffer.alloc(4 + vector.length);
  blob.writeFloatLE(scale, 0);
  for (let i = 0; i < vector.length; i += 1) blob.writeInt8(Math.round((vector[i] ?? 0) / scale), 4 + i);
  return blob;
}

export function unpackVector(blob: Uint8Array): { scale: number; bytes: Int8Array } {
  const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
  return { scale: view.getFloat32(0, true), bytes: new Int8Array(blob.buffer, blob.byteOffset + 4, blob.length - 4) };
}
