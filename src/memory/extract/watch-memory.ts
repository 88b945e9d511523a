/**
 * The thread beside a parser: it ends the whole process when that holds more memory than it may. A worker's own limits
 * would not do: they leave out array buffers, in which parsers inflate. The parser's thread may be busy all the time;
 * this one is not.
 */
import { workerData } from 'node:worker_threads';

const LOOK_EVERY_MS = 10;
const most = Number(workerData);

setInterval(() => {
  if (process.memoryUsage.rss() > most) process.kill(process.pid, 'SIGKILL');
}, LOOK_EVERY_MS);
