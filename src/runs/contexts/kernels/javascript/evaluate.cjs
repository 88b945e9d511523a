'use strict';

/**
 * Runs code as the browser's console does, with V8's own REPL mode: declarations live on and may be made
 * again, `await` works at the top level, and the value of the last expression is known.
 */
const { Session } = require('node:inspector');
const { inspect } = require('node:util');
const { promiseHooks } = require('node:v8');

const receiver = Symbol.for('geode.receiver');
const group = 'run';
const tracebackLimit = 100_000;

exports.makeEvaluate = () => {
  const session = new Session();
  session.connect();
  const post = (method, parameters) =>
    new Promise((resolve, reject) => {
      session.post(method, parameters, (error, answer) => (error ? reject(error) : resolve(answer)));
    });

  /** The promise of the latest code, which the inspector awaits. */
  let latest;
  const kept = [];

  /** Hands the code over; the first promise that is made thereby is its own. */
  const start = (expression) =>
    new Promise((resolve, reject) => {
      const unhook = promiseHooks.onInit((made) => {
        unhook();
        latest = new WeakRef(made);
      });
      const parameters = { expression, replMode: true, objectGroup: group };
      session.post('Runtime.evaluate', parameters, (error, answer) => {
        if (error) reject(error);
        else resolve(answer);
      });
      unhook();
    });

  /** The real value behind the inspector's description of it. */
  const realValue = async (remote) => {
    if (remote.objectId === undefined) {
      if (remote.unserializableValue === undefined) return remote.subtype === 'null' ? null : remote.value;
      return remote.type === 'bigint'
        ? BigInt(remote.unserializableValue.slice(0, -1))
        : Number(remote.unserializableValue);
    }
    let value;
    Object.defineProperty(globalThis, receiver, {
      configurable: true,
      value: (given) => {
        value = given;
      },
    });
    await post('Runtime.callFunctionOn', {
      objectId: remote.objectId,
      functionDeclaration: `function (value) { globalThis[Symbol.for('${receiver.description}')](value); }`,
      arguments: [{ objectId: remote.objectId }],
      silent: true,
    });
    delete globalThis[receiver];
    return value;
  };

  /** `{ value }` or `{ thrown }`; rejects when the execution is terminated. */
  const evaluate = async (code, name) => {
    const { result, exceptionDetails } = await start(`${code}\n//# sourceURL=${name}`);
    try {
      return exceptionDetails === undefined
        ? { value: await realValue(result) }
        : { thrown: await realValue(exceptionDetails.exception ?? result) };
    } finally {
      await post('Runtime.releaseObjectGroup', { objectGroup: group });
    }
  };

  /**
   * For code that was ended, whose promise nothing can settle any more. V8 would tell the inspector so in the
   * middle of collecting it, where no javascript may run, and the process would end: it is not collected.
   */
  const keep = () => {
    const promise = latest?.deref();
    if (promise !== undefined) kept.push(promise);
  };

  return { evaluate, keep };
};

/** Name, message and stack of anything thrown, without the kernel's own frames. */
exports.describeThrown = (thrown, shortened) => {
  if (!(thrown instanceof Error) && Object.prototype.toString.call(thrown) !== '[object Error]') {
    const text = shortened(inspect(thrown), tracebackLimit);
    return { name: 'Thrown', message: text, traceback: `Thrown: ${text}` };
  }
  return {
    name: String(thrown.name),
    message: shortened(String(thrown.message), tracebackLimit),
    traceback: shortened(stackOf(thrown), tracebackLimit),
  };
};

const deepestCause = 8;

function stackOf(error, depth = 0) {
  const stack = withoutKernel(String(error.stack ?? `${error.name}: ${error.message}`));
  if (error.cause === undefined || depth >= deepestCause) return stack;
  const cause = error.cause instanceof Error ? stackOf(error.cause, depth + 1) : inspect(error.cause);
  return `${stack}\nCaused by: ${cause}`;
}

/** Below the first frame of the kernel there are only more of it and of Node. */
function withoutKernel(stack) {
  let below = false;
  const kept = stack.split('\n').filter((line) => {
    const isFrame = /^\s+at /.test(line);
    below = isFrame && (below || /[( ](geode:|node:inspector)/.test(line));
    return !below;
  });
  return kept.join('\n');
}
