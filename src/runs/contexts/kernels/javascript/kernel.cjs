'use strict';

/** A javascript interpreter that keeps its state between runs, and speaks with its host through a wire. */
const { createRequire } = require('node:module');
const path = require('node:path');
const { setImmediate } = require('node:timers');
const { inspect } = require('node:util');
const { Worker } = require('node:worker_threads');
const { describeThrown, makeEvaluate } = require('./evaluate.cjs');
const { describe, describedAs, forms, shortened } = require('./rich.cjs');
const { fault, importName, prepare, state, withoutTypes } = require('./source.cjs');
const { replaceStreams, takeDescriptors } = require('./streams.cjs');
const { makeWire } = require('./wire.cjs');

exports.serve = ({ token, formLimitBytes, importModule, parts, loader }) => {
  const descriptors = takeDescriptors();
  replaceStreams();
  const { evaluate, abandon } = makeEvaluate();
  const written = new Int32Array(new SharedArrayBuffer(4));
  const control = new Worker(
    `(${loader})(require('node:worker_threads').workerData.parts, require)('./control.cjs');`,
    { eval: true, execArgv: [], workerData: { parts, token, descriptors, written: written.buffer } },
  );
  const wire = makeWire(control, written);
  let current = 0; // the run that is under way, 0 between runs
  let latest = 0;

  const start = async ({ run, code: given }) => {
    current = latest = run;
    const name = `<run-${run}>`;
    let code = given;
    try {
      code = withoutTypes(given);
      const outcome = await evaluate(prepare(code), name);
      if (current !== run) return;
      if (Object.hasOwn(outcome, 'thrown')) {
        finish(run, [failed(run, explained(outcome.thrown, code, name))]);
      } else if (outcome.value === undefined) {
        finish(run, []);
      } else {
        globalThis._ = outcome.value;
        finish(run, [{ type: 'value', run, rich: describe(outcome.value, formLimitBytes) }]);
      }
    } catch (error) {
      finish(run, [failed(run, explained(error, code, name))], { cut: true });
    }
  };

  /** Said first, then noted: whatever is ended in between, the next interrupt says it again. */
  const finish = (run, messages, { cut = false } = {}) => {
    wire.endRun(run, messages, cut);
    if (current === run) current = 0;
  };

  const handlers = {
    // One that the code has broken so that it cannot tell of an end any more comes to its own.
    run: (command) => start(command).catch(() => process.reallyExit(1)),
    interrupt({ run }) {
      if (current === run) abandon();
      finish(run, [], { cut: true });
    },
    nudge() {},
    // A whole turn of the loop later: what is due has gone on by then, and is ended if it does not come to an end.
    knock: ({ knock }) =>
      setImmediate(() => setImmediate(() => control.postMessage({ type: 'free', knock }))),
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

  const show = (rich) => wire.send({ type: 'display', run: latest, rich });
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

  control.on('message', (command) => handlers[command.type](command));
  control.on('error', () => process.reallyExit(1));
};

function failed(run, error) {
  return { type: 'error', run, interrupted: false, ...error };
}

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
