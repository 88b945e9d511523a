'use strict';

/**
 * Runs code as the browser's console does, with V8's own REPL mode: declarations live on and may be made
 * again, `await` works at the top level, and the value of the last expression is known.
 */
const { Session } = require('node:inspector');
const { inspect } = require('node:util');

const receiver = Symbol.for('geode.receiver');
const group = 'run';
const tracebackLimit = 100_000;

exports.makeEvaluate = () => {
  let session = connected();

  /** The real value behind the inspector's description of it. */
  const realValue = async (post, remote) => {
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

  /** `{ value }` or `{ thrown }`; rejects when the execution is terminated or abandoned. */
  const evaluate = async (code, name) => {
    const post = postOf(session);
    const { result, exceptionDetails } = await post('Runtime.evaluate', {
      expression: `${code}\n//# sourceURL=${name}`,
      replMode: true,
      objectGroup: group,
    });
    try {
      return exceptionDetails === undefined
        ? { value: await realValue(post, result) }
        : { thrown: await realValue(post, exceptionDetails.exception ?? result) };
    } finally {
      await post('Runtime.releaseObjectGroup', { objectGroup: group });
    }
  };

  /**
   * Nobody waits for what is being evaluated any more. With its session: V8 would tell of an awaited promise that
   * nothing can settle in the midst of collecting it, where no code may run, and the process would abort. In an
   * order that leaves a whole session behind, wherever an interrupt ends it.
   */
  const abandon = () => {
    const former = session;
    session = connected();
    former.disconnect();
  };
  return { evaluate, abandon };
};

function connected() {
  const session = new Session();
  session.connect();
  return session;
}

const postOf = (session) => (method, parameters) =>
  new Promise((resolve, reject) => {
    session.post(method, parameters, (error, answer) => (error ? reject(error) : resolve(answer)));
  });

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
