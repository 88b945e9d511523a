'use strict';

/**
 * Runs in a thread of its own, so that the host is heard and answered whatever user code does to the main
 * thread: reads the commands, writes the messages, and ends an execution that does not let an interrupt
 * through. An execution can be ended anywhere, in the middle of the kernel's own code too. So what has to
 * happen whole and once happens here: the frames of a message, and the end of a run.
 */
const { Session } = require('node:inspector');
const { Socket } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const { makeFrames } = require('./frames.cjs');

const patienceMs = 100;
const strayPatienceMs = 1000;
const nudgeMs = 20;
const slowestNudgeMs = 1000;
const lastWordsMs = 2000;

const frames = makeFrames(workerData.descriptors, workerData.token);
const written = new Int32Array(workerData.written);
let current = 0; // the run that is under way; 0 between runs
let interrupted = false; // the run that is under way is to end
let ending = false; // an execution is being ended, and V8 has not said yet that it is
let stray = false; // code that awaited something when it was interrupted may go on one day
let knocks = 0;
let onFree; // there while the main thread is asked whether it is free
let held = []; // commands that came meanwhile: they must not run into it

readLines(workerData.descriptors.commands, (line) => take(JSON.parse(line)));
parentPort.on('message', (said) => {
  if (said.type === 'message') write(said);
  else if (said.type === 'end') end(said);
  else if (said.knock === knocks) onFree?.();
});
frames.send(JSON.stringify({ type: 'ready', version: process.versions.node }));

function take(command) {
  if (command.type === 'nudge') return; // this thread hears everything at once
  if (ending || onFree !== undefined) {
    held.push(command);
  } else if (command.type === 'interrupt') {
    if (command.run !== current) return; // it came too late
    interrupted = true;
    ask(command.run);
  } else if (command.type === 'run' && stray) {
    whenFree(() => pass(command));
  } else {
    pass(command);
  }
}

function pass(command) {
  if (command.type === 'run') [current, interrupted] = [command.run, false];
  parentPort.postMessage(command);
}

/** Nothing stops what awaits. But when it goes on it may not keep the next run from beginning. */
function whenFree(then) {
  knocks += 1;
  parentPort.postMessage({ type: 'knock', knock: knocks });
  const timer = setTimeout(() => {
    onFree = undefined;
    endExecution(() => whenFree(then));
  }, strayPatienceMs);
  onFree = () => {
    clearTimeout(timer);
    onFree = undefined;
    then();
    release();
  };
}

function release() {
  const waiting = held;
  held = [];
  for (const command of waiting) take(command);
}

function write({ number, json }) {
  frames.send(json);
  Atomics.store(written, 0, number);
  Atomics.notify(written, 0);
}

/** `cut`: not by the code itself. A run ends once, however often it is said. */
function end({ run, messages, cut }) {
  if (run !== current) return;
  current = 0;
  stray ||= cut;
  for (const json of cut && interrupted ? [interruption(run)] : messages) frames.send(json);
  frames.endRun(run);
}

function interruption(run) {
  const text = 'The run was interrupted.';
  const error = { name: 'Interrupted', message: text, traceback: `Interrupted: ${text}`, interrupted: true };
  return JSON.stringify({ type: 'error', run, ...error });
}

/** A main thread that is free says at once that the run has ended; one that is not loses its execution. */
function ask(run) {
  parentPort.postMessage({ type: 'interrupt', run });
  setTimeout(() => {
    if (current === run && !ending) endExecution(() => current === run && ask(run));
  }, patienceMs);
}

/**
 * V8 ends whatever runs when it gets to it, or what runs next. Only when it says that it has done so may
 * anything new begin. The session is connected for no longer: Node's exit waits for those of other threads.
 */
function endExecution(then) {
  ending = true;
  const inspector = new Session();
  inspector.connectToMainThread();
  const rest = nudging();
  inspector.post('Runtime.terminateExecution', () => {
    rest();
    inspector.disconnect();
    ending = false;
    then();
    release();
  });
}

/** An idle main thread has nothing to end, and would never say so. */
function nudging(ms = nudgeMs) {
  let timer;
  const nudge = (after) => {
    parentPort.postMessage({ type: 'nudge' });
    timer = setTimeout(nudge, after, Math.min(2 * after, slowestNudgeMs));
  };
  nudge(ms);
  return () => clearTimeout(timer);
}

function readLines(descriptor, onLine) {
  let line = [];
  const commands = new Socket({ fd: descriptor, readable: true, writable: false });
  commands.on('data', (chunk) => {
    for (let rest = chunk; rest.length > 0; ) {
      const end = rest.indexOf(10);
      line.push(end < 0 ? rest : rest.subarray(0, end));
      if (end < 0) return;
      rest = rest.subarray(end + 1);
      onLine(Buffer.concat(line).toString());
      line = [];
    }
  });
  commands.on('close', () => {
    parentPort.postMessage({ type: 'hang-up' });
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), lastWordsMs);
  });
}
