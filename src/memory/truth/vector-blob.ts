/**
 * The stored form of a vector: its difference from the model's centre, as one 32-bit scale and 16 bits for each
 * dimension. Indexes hold a less precise form and read this one to sort their best hits.
 */
const LARGEST = 32_767;

export function packVector(vector: Float32Array, centre: Float32Array): Uint8Array {
  const rest = vector.map((value, i) => value - (centre[i] ?? 0));
  let largest = 0;
  for (const value of rest) largest = Math.max(largest, Math.abs(value));
  const scale = (largest || 1) / LARGEST;
  const blob = Buffer.alloc(4 + rest.length * 2);
  blob.writeFloatLE(scale, 0);
  for (let i = 0; i < rest.length; i += 1) blob.writeInt16LE(Math.round((rest[i] ?? 0) / scale), 4 + i * 2);
  return blob;
}

/** The steps and their scale: a step times the scale is the difference from the centre. */
export function openVector(blob: Uint8Array): { scale: number; steps: Int16Array } {
  // A copy, because the bytes of a column need not start at an even offset.
  const { buffer } = new Uint8Array(blob);
  return { scale: new DataView(buffer).getFloat32(0, true), steps: new Int16Array(buffer, 4) };
}

export function unpackVector(blob: Uint8Array, centre: Float32Array): Float32Array {
  const { scale, steps } = openVector(blob);
  return centre.map((value, i) => value + (steps[i] ?? 0) * scale);
}
