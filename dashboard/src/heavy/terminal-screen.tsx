/** A terminal of a process. Whatever becomes of the connection, it joins again and gets its screen back. */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef, useState } from 'react';
import { isGeodeError, type SocketProcess } from '../../../src/client/client.ts';
import { client } from '../api.ts';
import { withNonce } from '../nonce.ts';
import { text } from '../text.ts';
import { Problem } from '../ui/problem.tsx';

type State = 'open' | 'lost' | 'ended';

const againMs = 1000;

export default function TerminalScreen({
  chat,
  process,
  isReader,
}: {
  readonly chat: string;
  readonly process: string;
  readonly isReader: boolean;
}) {
  const place = useRef<HTMLDivElement>(null);
  const leave = useRef<HTMLParagraphElement>(null);
  const [state, setState] = useState<State>('open');
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const left = new AbortController();
    const terminal = new Terminal({
      cursorBlink: false,
      fontSize: 13,
      fontFamily: '"JetBrains Mono Variable", ui-monospace, monospace',
      scrollback: 5000,
      screenReaderMode: isReader,
      theme: { background: '#09090c', foreground: '#e9e9ec', cursor: '#b2aafb' },
      // A link in the output leads where its author wants; none is made.
      linkHandler: { activate: () => {} },
    });
    const fit = new FitAddon();
    terminal.loadAddon(fit);
    // A program in the terminal gets every other key, Tab too; this one leads out of it.
    terminal.attachCustomKeyEventHandler((event) => {
      if (event.key !== 'F6' || !event.ctrlKey) return true;
      if (event.type === 'keydown') leave.current?.focus();
      return false;
    });
    withNonce(() => terminal.open(current));
    fit.fit();
    let joined: SocketProcess | undefined;
    const ignored = () => {};
    terminal.onData((data) => void joined?.write(data).catch(ignored));
    terminal.onResize(({ cols, rows }) => void joined?.resize({ columns: cols, rows }).catch(ignored));
    const resizing = new ResizeObserver(() => fit.fit());
    resizing.observe(current);

    const follow = async () => {
      const size = { columns: terminal.cols, rows: terminal.rows };
      joined = await client.sandboxes.of(chat).join(process, { size, signal: left.signal });
      terminal.reset();
      terminal.write(joined.screen?.content ?? '');
      setState('open');
      for await (const event of joined) {
        if (event.type === 'exit') return true;
        if (event.type !== 'output-lost')
          // The program waits for a screen that is slow.
          await new Promise<void>((resolve) => terminal.write(event.bytes, resolve));
      }
      return false;
    };
    const keep = async () => {
      while (!left.signal.aborted) {
        try {
          if (await follow()) {
            setState('ended');
            return;
          }
        } catch (thrown) {
          joined = undefined;
          if (left.signal.aborted) return;
          if (isGeodeError(thrown) && thrown.status < 500 && thrown.code !== 'cancelled') {
            setError(thrown);
            return;
          }
        }
        setState('lost');
        await new Promise((resolve) => setTimeout(resolve, againMs));
      }
    };
    void keep();
    terminal.focus();
    return () => {
      left.abort();
      resizing.disconnect();
      terminal.dispose();
    };
  }, [chat, process, isReader]);
  return (
    <div className="flex flex-col gap-2">
      {error !== undefined && <Problem error={error} />}
      <p role="status" className={state === 'open' ? 'sr-only' : 'text-warn'}>
        {state === 'lost' && text.terminal.lost}
        {state === 'ended' && text.terminal.ended}
      </p>
      <section
        ref={place}
        aria-label={text.terminal.label}
        className="h-[64dvh] overflow-hidden rounded-card border border-line bg-[#09090c] p-2"
      />
      <p ref={leave} tabIndex={-1} className="text-faint">
        {text.terminal.leave}
      </p>
    </div>
  );
}
