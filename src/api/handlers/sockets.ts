/** Commands and code over a WebSocket: start, input and output. */
import { bytesOf } from '../../contract/encoding.ts';
import { streamBytes } from '../../contract/frames.ts';
import type { sockets } from '../../contract/sockets.ts';
import { screenOf } from '../../journals/screen.ts';
import type { Runs } from '../../runs/index.ts';
import type { PersistentSandbox } from '../../seams/persistent.ts';
import type { Process } from '../../seams/process.ts';
import type { Call } from '../call.ts';
import type { ApiParts } from '../environment.ts';
import { startedSandbox } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';
import type { Talk } from '../sockets.ts';
import { untilAborted } from '../until-aborted.ts';
import { commandOf, markBefore } from './command.ts';
import { freshExec } from './fresh-exec.ts';
import { ignoreEnd, placeOf, talkOf } from './process-talk.ts';
import { runOf, shownEvent } from './runs.ts';

export function socketHandlers({
  sandboxes,
  runs,
  open,
  egress,
}: Pick<ApiParts, 'sandboxes' | 'runs' | 'open' | 'egress'>): Handlers<typeof sockets> {
  return {
    exec:
      sandboxes &&
      (({ chat }, call) =>
        (talk) =>
          exec(talk, chat, call)),
    join:
      sandboxes &&
      (async ({ chat, process, ...how }, call) => {
        const sandbox = await startedSandbox(call, chat);
        const joined = await sandbox.attach(process);
        return (talk) => join(talk, sandbox, joined, how);
      }),
    freshExec: open && ((_, call) => (talk) => freshExec(talk, call, open, egress)),
    run: runs && ((_, call) => (talk) => run(talk, call, runs, egress)),
  };
}

async function exec(talk: Talk<typeof sockets.exec>, chat: string, call: Call): Promise<void> {
  const first = await talk.first();
  if (first === undefined) return;
  const { type: _, onDisconnect, ...asked } = first;
  const { signal } = talk;
  const sandbox = await startedSandbox(call, chat);
  await markBefore(sandbox, asked.undoable, signal);
  const startedAt = Date.now();
  const process = await sandbox.spawn(commandOf(asked), { inStep: true, signal });
  await talk.send({
    type: 'process',
    id: process.id,
    pid: process.pid,
    offset: 0,
    sandbox: placeOf(sandbox),
  });
  const denials = () => sandbox.denials(startedAt);
  const exit = await talkOf(talk, process, untilAborted(process, signal), denials);
  // A stopping server is not a leaving caller: work in sandboxes continues.
  if (exit === 'left' && onDisconnect === 'kill' && !call.stopping.aborted) await process.kill();
}

interface Joining {
  readonly from?: number;
  readonly columns?: number;
  readonly rows?: number;
}

async function join(
  talk: Talk<typeof sockets.join>,
  sandbox: PersistentSandbox,
  process: Process,
  { from = 0, columns, rows }: Joining,
): Promise<void> {
  const { signal } = talk;
  const { id, pid } = process;
  const journal = sandbox.journals.open(id);
  await talk.send({ type: 'process', id, pid, offset: from, sandbox: placeOf(sandbox) });
  let offset = from;
  if (columns !== undefined && rows !== undefined) {
    const { processes } = await sandbox.processes({ signal });
    const size = { columns, rows };
    const seenAt = processes.find((each) => each.id === id)?.terminal ?? size;
    const screen = await screenOf(journal, seenAt, { showAt: size, signal });
    offset = screen.offset;
    await talk.send({ type: 'screen', ...screen.size, offset });
    await talk.write(streamBytes.stdout, Buffer.from(screen.content));
    await process.resize(size).catch(ignoreEnd);
  }
  await talkOf(talk, process, journal.follow(offset, { signal }));
}

async function run(
  talk: Talk<typeof sockets.run>,
  call: Call,
  runs: Runs,
  egress: ApiParts['egress'],
): Promise<void> {
  const first = await talk.first();
  if (first === undefined) return;
  const { type: _, interactive, code, ...asked } = first;
  const { language, options } = runOf(call, { ...asked, code: '' }, egress);
  const signal = AbortSignal.any([talk.signal, call.stopping]);
  const events = runs.stream(typeof code === 'string' ? code : bytesOf(code), language, {
    ...options,
    ...(interactive && { stdin: stdinOf(talk) }),
    signal,
  });
  for await (const event of events) {
    if (event.type === 'stdout' || event.type === 'stderr')
      await talk.write(streamBytes[event.type], event.bytes);
    else await talk.send(shownEvent(event));
  }
}

async function* stdinOf(talk: Talk<typeof sockets.run>): AsyncGenerator<Uint8Array> {
  for await (const message of talk.received()) {
    if (!(message instanceof Uint8Array)) return;
    yield message;
  }
}
