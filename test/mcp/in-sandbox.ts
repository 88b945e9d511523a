/** The SDK's own client, joined to a program in a sandbox by that program's stdin and stdout. */
import { Client, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/client';
import type { PersistentSandbox } from '../../src/seams/persistent.ts';
import type { Command, Process } from '../../src/seams/process.ts';

type Place = Pick<PersistentSandbox, 'spawn'>;

/** `geode-mcp`, as it is found in the sandbox's PATH. */
export const bridge: Command = { argv: ['geode-mcp'], interactive: true, timeoutMs: null };

export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #sandbox: Place;
  readonly #command: Command;
  #process: Process | undefined;
  #saying: Promise<void> = Promise.resolve();
  /** Its output besides messages. */
  readonly stderr: string[] = [];
  /** Every line that came. */
  readonly lines: string[] = [];
  readonly #over = Promise.withResolvers<number | null>();

  constructor(sandbox: Place, command: Command = bridge) {
    this.#sandbox = sandbox;
    this.#command = command;
  }

  get process(): Process {
    if (this.#process === undefined) throw new Error('It is not started');
    return this.#process;
  }

  /** Its exit code, or null when the handle ended in another way. */
  get ended(): Promise<number | null> {
    return this.#over.promise;
  }

  async start(): Promise<void> {
    this.#process = await this.#sandbox.spawn(this.#command);
    void this.#read(this.#process);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.say(`${JSON.stringify(message)}\n`);
  }

  /** One after the other, as a program writes to a pipe. */
  async say(text: string): Promise<void> {
    this.#saying = this.#saying.then(() => this.process.write(text));
    await this.#saying;
  }

  async close(): Promise<void> {
    await this.process.closeStdin().catch(() => {});
    await this.ended;
  }

  async #read(process: Process): Promise<void> {
    let rest = '';
    let code: number | null = null;
    try {
      for await (const event of process) {
        if (event.type === 'stderr') this.stderr.push(Buffer.from(event.bytes).toString());
        if (event.type === 'exit') code = event.exitCode;
        if (event.type !== 'stdout') continue;
        const lines = (rest + Buffer.from(event.bytes).toString()).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          this.lines.push(line);
          this.onmessage?.(JSON.parse(line));
        }
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
    this.#over.resolve(code);
    this.onclose?.();
  }
}

export interface InSandbox extends AsyncDisposable {
  readonly client: Client;
  readonly transport: ProcessTransport;
}

/** Which of the protocol's versions the client speaks: the newest, or an older one. */
export async function connectIn(
  sandbox: Place,
  speaks: 'newest' | string = 'newest',
  command: Command = bridge,
): Promise<InSandbox> {
  const options =
    speaks === 'newest'
      ? { versionNegotiation: { mode: 'auto' as const } }
      : { supportedProtocolVersions: [speaks] };
  const client = new Client({ name: 'test', version: '0' }, options);
  const transport = new ProcessTransport(sandbox, command);
  await client.connect(transport, { timeout: 120_000 });
  return { client, transport, [Symbol.asyncDispose]: () => client.close() };
}
