import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { geodeProgram } from '../../test/cli/sandbox-home.ts';
import { fixture } from '../../test/contracts/harness.ts';

/** `geode shell` in a real terminal: what a key takes until the terminal shows it. */
export interface ShellEcho extends AsyncDisposable {
  press(key: string): Promise<number>;
}

const promptMs = 60_000;

export async function shellEcho(chat: string, env: Readonly<Record<string, string>>): Promise<ShellEcho> {
  const argv = [fixture('terminal.py'), '100', '30', process.execPath, geodeProgram, 'shell', chat];
  const child = spawn('python3', argv, {
    env: { ...env, TERM: 'xterm-256color' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const over = once(child, 'close');
  const type = (keys: string) =>
    child.stdin.write(`${JSON.stringify({ type: Buffer.from(keys).toString('base64') })}\n`);
  const shown = once(child.stdout, 'data', { signal: AbortSignal.timeout(promptMs) });
  await shown;
  // The prompt comes after the greeting: a command that only a shell answers says that it is there.
  type('echo rea""dy\r');
  let text = '';
  for await (const [piece] of on(child.stdout, 'data', { signal: AbortSignal.timeout(promptMs) })) {
    text += String(piece);
    if (/^ready/m.test(text)) break;
  }
  await delay(200);
  return {
    async press(key) {
      const began = performance.now();
      const echoed = once(child.stdout, 'data', { signal: AbortSignal.timeout(promptMs) });
      type(key);
      await echoed;
      return performance.now() - began;
    },
    async [Symbol.asyncDispose]() {
      type('\x15exit\r');
      await over;
    },
  };
}
