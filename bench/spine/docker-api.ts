import { Agent, type IncomingMessage, request } from 'node:http';
import { z } from 'zod';
import type { Timing } from './local-process.ts';

/** The engine's own API on connections that stay open: as fast as it can be asked. */
export interface DockerApi extends Disposable {
  /** Creates an exec, follows its output to the end and asks for the exit code. */
  exec(container: string, argv: readonly string[]): Promise<Timing>;
  inspect(container: string): Promise<ContainerFacts>;
  createAndStart(name: string, body: unknown): Promise<void>;
  remove(container: string): Promise<void>;
}

const idSchema = z.object({ Id: z.string() });
const exitSchema = z.object({ ExitCode: z.number() });
const containerSchema = z.object({
  Config: z.object({ Image: z.string(), User: z.string(), WorkingDir: z.string() }),
  HostConfig: z.record(z.string(), z.unknown()),
  State: z.object({ Pid: z.number() }),
});
type ContainerFacts = z.infer<typeof containerSchema>;

export function dockerApi(socketPath: string): DockerApi {
  const agent = new Agent({ keepAlive: true });
  const call = (method: string, path: string, body?: unknown): Promise<IncomingMessage> => {
    const sent = body === undefined ? '' : JSON.stringify(body);
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) };
    return new Promise((resolve, reject) => {
      request({ socketPath, agent, method, path, headers }, resolve).once('error', reject).end(sent);
    });
  };
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const answer = await call(method, path, body);
    const text = (await answer.setEncoding('utf8').toArray()).join('');
    if ((answer.statusCode ?? 0) >= 300)
      throw new Error(`the engine answered ${answer.statusCode} to ${method} ${path}: ${text.trim()}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    async exec(container, argv) {
      const began = performance.now();
      const wanted = { Cmd: argv, AttachStdout: true, AttachStderr: true };
      const { Id } = idSchema.parse(await ask('POST', `/containers/${container}/exec`, wanted));
      const output = await call('POST', `/exec/${Id}/start`, { Detach: false, Tty: false });
      let firstByteMs = Number.NaN;
      let bytes = 0;
      for await (const chunk of output as AsyncIterable<Buffer>) {
        if (bytes === 0) firstByteMs = performance.now() - began;
        bytes += chunk.length;
      }
      const { ExitCode } = exitSchema.parse(await ask('GET', `/exec/${Id}/json`));
      if (ExitCode !== 0) throw new Error(`${argv.join(' ')} ended with ${ExitCode}`);
      return { firstByteMs, totalMs: performance.now() - began, bytes };
    },
    inspect: async (container) => containerSchema.parse(await ask('GET', `/containers/${container}/json`)),
    async createAndStart(name, body) {
      await ask('POST', `/containers/create?name=${name}`, body);
      await ask('POST', `/containers/${name}/start`);
    },
    async remove(container) {
      const answer = await call('DELETE', `/containers/${container}?force=1&v=1`);
      answer.resume();
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
