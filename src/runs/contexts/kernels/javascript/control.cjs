'use strict';

/**
 * Runs in a thread of its own, so that the host is heard while user code keeps the main thread busy: reads
 * the commands, and ends an execution that does not let the interrupt through.
 */
const { Session } = require('node:inspector');
const { Socket } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');

const patienceMs = 100;
const lastWordsMs = 2000;
const interrupts = new Int32Array(workerData.interrupts);
const [wanted, heard] = [0, 1];

let line = [];
const commands = new Socket({ fd: workerData.commands, readable: true, writable: false });
commands.on('data', (chunk) => {
  for (let rest = chunk; rest.length > 0; ) {
    const end = rest.indexOf(10);
    line.push(end < 0 ? rest : rest.subarray(0, end));
    if (end < 0) return;
    rest = rest.subarray(end + 1);
    take(JSON.parse(Buffer.concat(line).toString()));
    line = [];
  }
});
commands.on('close', () => {
  parentPort.postMessage({ type: 'hang-up' });
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), lastWordsMs);
});

function take(command) {
  if (command.type === 'interrupt') interrupt(command.run);
  else parentPort.postMessage(command);
}

/** The main thread says which interrupt it has heard of; while it stays silent its execution is ended. */
function interrupt(run) {
  if (Atomics.load(interrupts, heard) >= run) return;
  Atomics.store(interrupts, wanted, run);
  parentPort.postMessage({ type: 'interrupt', run });
  setTimeout(() => {
    if (Atomics.load(interrupts, heard) >= run) return;
    endExecution();
    interrupt(run);
  }, patienceMs);
}

/** Connected for no longer than it takes: Node's exit waits for sessions from other threads, and says so. */
function endExecution() {
  const inspector = new Session();
  inspector.connectToMainThread();
  inspector.post('Runtime.terminateExecution', () => inspector.disconnect());
}
