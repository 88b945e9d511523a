/**
 * The thread next to a parser: it ends the whole process when it uses too much memory. A worker's own limits are not
 * enough, because they ignore array buffers, into which parsers inflate. The parser's thread may be busy all the
 * time; this one is not.
 */
import { workerData } from 'node:worker_threads';

const LOOK_EVERY_MS = 10;
const most = Number(workerData);

setInterval(() => {
  if (process.memoryUsage.rss() > most) process.kill(process.pid, 'SIGKILL');
}, LOOK_EVERY_MS);
