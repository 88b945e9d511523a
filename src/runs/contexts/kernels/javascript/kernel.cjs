'use strict';

/** A javascript interpreter that keeps its state between runs, and speaks with its host through a wire. */
const { createRequire } = require('node:module');
const path = require('node:path');
const { inspect } = require('node:util');
const { Worker } = require('node:worker_threads');
const { describeThrown, makeEvaluate } = require('./evaluate.cjs');
const { describe, describedAs, forms, shortened } = require('./rich.cjs');
const { fault, importName, prepare, state } = require('./source.cjs');
const { makeWire, replaceStreams, takeDescriptors } = require('./wire.cjs');

/** Places in the memory that is shared with the control thread: runs, by number. */
const [wanted, heard] = [0, 1];

const interrupted = {
  name: 'Interrupted',
  message: 'The run was interrupted.',
  traceback: 'Interrupted: The run was interrupted.',
  interrupted: true,
};

exports.serve = ({ token, formLimitBytes, importModule, controlSource }) => {
  const descriptors = takeDescriptors();
  const wire = makeWire(descriptors, token);
  replaceStreams();
  const evaluate = makeEvaluate();
  const interrupts = new Int32Array(new SharedArrayBuffer(8));
  let current = 0; // the run that is under way, 0 between runs
  let latest = 0;

  const finish = (run, error) => {
    if (current !== run) return;
    current = 0;
    if (error !== undefined) wire.send({ type: 'error', run, interrupted: false, ...error });
    wire.endRun(run);
  };

  const start = async ({ run, code }) => {
    current = latest = run;
    const name = `<run-${run}>`;
    try {
      const outcome = await evaluate(prepare(code), name);
      if (current !== run) return;
      if (Object.hasOwn(outcome, 'thrown')) return finish(run, explained(outcome.thrown, code, name));
      if (outcome.value !== undefined) {
        globalThis._ = outcome.value;
        wire.send({ type: 'value', run, rich: describe(outcome.value, formLimitBytes) });
      }
      finish(run);
    } catch (error) {
      if (Atomics.load(interrupts, wanted) === run) finish(run, interrupted);
      else finish(run, explained(error, code, name));
    }
  };

  const handlers = {
    run: start,
    interrupt({ run }) {
      Atomics.store(interrupts, heard, run);
      finish(run, interrupted);
    },
    check: ({ id, code }) => wire.send({ type: 'checked', id, state: state(code) }),
    close() {
      try {
        process.emit('exit', 0);
      } finally {
        wire.send({ type: 'closed' });
      }
    },
    'hang-up': () => process.exit(0),
  };

  const show = (rich) => wire.send({ type: 'display', run: current || latest, rich });
  const display = (...values) => {
    for (const value of values) show(describe(value, formLimitBytes));
  };
  for (const form of forms) display[form] = (content) => show(describedAs(form, content, formLimitBytes));
  const globals = {
    display,
    require: createRequire(path.join(process.cwd(), 'run.js')),
    [importName]: importModule,
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { configurable: true, writable: true, value });
  }
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (thrown) => process.stderr.write(`Uncaught ${described(thrown)}\n`));
  }

  const control = new Worker(controlSource, {
    eval: true,
    execArgv: [],
    workerData: { commands: descriptors.commands, interrupts: interrupts.buffer },
  });
  control.on('message', (command) => handlers[command.type](command));
  control.on('error', () => process.reallyExit(1));
  control.on('online', () => wire.send({ type: 'ready', version: process.versions.node }));
};

/** V8 tells no place of a syntax error in code that never ran, nor what became of a promise. */
function explained(thrown, code, name) {
  if (/Promise was collected/.test(thrown?.message)) {
    const message = 'The run awaits a promise that nothing can settle any more.';
    return { name: 'Error', message, traceback: `Error: ${message}\n    at ${name}` };
  }
  const described = describeThrown(thrown, shortened);
  const place = thrown instanceof SyntaxError ? fault(code, name) : undefined;
  return place === undefined ? described : { ...described, traceback: `${place}\n${described.traceback}` };
}

function described(thrown) {
  return thrown instanceof Error ? describeThrown(thrown, shortened).traceback : inspect(thrown);
}
