import { parentPort, workerData } from 'node:worker_threads';
import { grepHere } from './journal-grep.ts';

parentPort?.postMessage(await grepHere(workerData, {}));
