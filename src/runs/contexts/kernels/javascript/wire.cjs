'use strict';

/**
 * The main thread's line to its host: through the control thread, which writes messages whole and ends a run
 * once. An interrupt may end the execution of anything here; handing something over is a single step.
 */
exports.makeWire = (control, written) => {
  let sent = 0;
  return {
    /** Returns when the message is written: what the code prints next stands behind it. */
    send(message) {
      sent += 1;
      const number = sent;
      control.postMessage({ type: 'message', number, json: JSON.stringify(message) });
      while (Atomics.load(written, 0) < number) Atomics.wait(written, 0, number - 1);
    },
    endRun(run, messages, cut) {
      control.postMessage({ type: 'end', run, cut, messages: messages.map((each) => JSON.stringify(each)) });
    },
  };
};
