/** Writes a vector in all its precisions: the sign of each dimension, a byte for each, and four more bits. */
import { BLOCK, type RowLayout } from './row-layout.ts';

/** The largest value of 12 bits; without the last four bits a byte remains. */
const LARGEST = 127 * 16 + 7;
/** From the 16 stored bits to these 12. */
export const FINE_PER_STEP = LARGEST / 32_767;
/** How many dimensions share eight bytes of a tail: the first eight in the low bits, the others in the high bits. */
const TOGETHER = 16;

export function writeGrades(layout: RowLayout, memory: Uint8Array, row: number, steps: Int16Array): void {
  const bytesAt = layout.rows + row * layout.rowBytes;
  const tailAt = layout.tails + (row * layout.rowBytes) / 2;
  const signsAt = layout.signsOf(row);
  for (let from = 0; from < layout.rowBytes; from += TOGETHER) {
    let signs = 0;
    for (let i = 0; i < TOGETHER / 2; i += 1) {
      const low = steps[from + i] ?? 0;
      const high = steps[from + i + 8] ?? 0;
      signs |= (low > 0 ? 1 << i : 0) | (high > 0 ? 256 << i : 0);
      const lowFine = Math.round(low * FINE_PER_STEP);
      const highFine = Math.round(high * FINE_PER_STEP);
      const lowByte = (lowFine + 8) >> 4;
      const highByte = (highFine + 8) >> 4;
      memory[bytesAt + from + i] = lowByte;
      memory[bytesAt + from + i + 8] = highByte;
      memory[tailAt + from / 2 + i] = (lowFine - lowByte * 16 + 8) | ((highFine - highByte * 16 + 8) << 4);
    }
    memory[signsAt + (from / 8) * BLOCK] = signs & 255;
    memory[signsAt + (from / 8 + 1) * BLOCK] = signs >> 8;
  }
}
