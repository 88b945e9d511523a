const first = 0x10;
const second = 0x11;
/** A Ctrl-P alone is for the sandbox; so long it may be the first half of Ctrl-P Ctrl-Q. */
const pauseMs = 400;

export interface DetachKeys {
  type(keys: Uint8Array): void;
  end(): void;
}

/** Detects Ctrl-P Ctrl-Q in the input, and passes on all other keys. */
export function detachKeys(send: (keys: Uint8Array) => void, detach: () => void): DetachKeys {
  let timer: NodeJS.Timeout | undefined;
  const forget = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    type(keys) {
      const typed = timer === undefined ? keys : Uint8Array.of(first, ...keys);
      forget();
      const at = typed.findIndex((key, index) => key === first && typed[index + 1] === second);
      const waits = at === -1 && typed.at(-1) === first;
      const sent = typed.subarray(0, at === -1 ? typed.length - (waits ? 1 : 0) : at);
      if (sent.length > 0) send(sent);
      if (at !== -1) return detach();
      if (!waits) return;
      timer = setTimeout(() => {
        forget();
        send(Uint8Array.of(first));
      }, pauseMs);
    },
    end: forget,
  };
}
