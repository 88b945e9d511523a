/** The thread that quantises. It takes seconds, and the server must keep answering. */
import { serveCalls } from '../worker-calls.ts';
import { quantise } from './quantise.ts';

export type QuantiseCalls = {
  quantise: { input: Uint8Array; output: Uint8Array };
};

serveCalls<QuantiseCalls>({ quantise });
