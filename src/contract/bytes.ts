/** Bytes in JSON: as text if they are valid text, otherwise in base64. */
import { z } from 'zod';

const base64Schema = z.base64().describe('Bytes in base64.');

/** Bytes that a caller sends. */
export const bytesSchema = z
  .union([z.strictObject({ text: z.string() }), z.strictObject({ base64: base64Schema })])
  .meta({ id: 'Bytes' });

/** The fields of an event with bytes: exactly one of the two is set. */
export const bytesShape = {
  text: z.string().optional().describe('The bytes as text, if they are UTF-8.'),
  base64: base64Schema.optional().describe('The bytes in base64, if they are not UTF-8.'),
};
