import { writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { GeodeError, isGeodeError, reasonOf } from '../../../base/errors.ts';
import { parsedJson } from '../../../base/json.ts';
import { hostTools } from '../../builtin/tools.ts';
import { answerRequest } from './answer-request.ts';
import { hostOn } from './host-on-stdin.ts';
import { RequestLines } from './request-lines.ts';
import { type AgentLine, type AgentRequest, type AgentResponse, agentRequest, mostBytes } from './schemas.ts';
import { signedLine } from './signed-lines.ts';
import { agentVersion } from './version.ts';

export interface AgentStdinOptions {
  readonly stdin: Readable;
  /** Writes to a file descriptor; stdout is 1. */
  readonly write?: (descriptor: number, text: string) => void;
  readonly log: (line: string) => void;
  readonly folder: string;
  readonly variable: (name: string) => string | undefined;
  /** Descriptor for the response without markers; null: between markers on stdout. */
  readonly responseFd: number | null;
  /** Print each step on stdout, one line per step; the response is the last line. */
  readonly events: boolean;
  readonly signal: AbortSignal;
}

const startMark = '<<<AGENT_RESPONSE_START>>>';
const endMark = '<<<AGENT_RESPONSE_END>>>';

/** Reads one request and writes one response. Returns true if the response is a success. */
export async function agentStdin(options: AgentStdinOptions): Promise<boolean> {
  const lines = new RequestLines(options.stdin, mostBytes);
  const output = new Output(options);
  let request: AgentRequest | undefined;
  let response: AgentResponse;
  try {
    request = parseRequest(await lines.next(), options.events);
    output.secret = request.secret;
    output.send({ type: 'start', version: agentVersion });
    const { folder, variable, signal } = options;
    const send = (line: AgentLine) => output.send(line);
    const host = request.host && request.secret ? hostOn(lines, request.secret, send) : undefined;
    response = await answerRequest(request, { folder, variable, send, host, signal });
  } catch (error) {
    options.log(`agent-stdin: ${reasonOf(error)}`);
    response = failure(request?.request_id ?? null, error);
  }
  output.respond(response);
  return response.status === 'success';
}

function parseRequest(line: string | undefined, hasEvents: boolean): AgentRequest {
  if (line === undefined || line.trim() === '')
    throw new GeodeError('invalid_input', 'No request on stdin: expected one line of JSON.');
  const json = parsedJson(line);
  if (json === undefined) throw new GeodeError('invalid_input', 'The request is not one line of JSON.');
  const parsed = agentRequest.safeParse(json);
  if (!parsed.success)
    throw new GeodeError('invalid_input', `The request is not valid: ${z.prettifyError(parsed.error)}`);
  const { host, secret, tools, session_tools: more, agent_config: config } = parsed.data;
  if (host && (!hasEvents || secret === undefined))
    throw new GeodeError('invalid_input', '`host` needs --events and a secret.');
  const needed = hostTools.find(({ name }) => tools.includes(name))?.name ?? more[0]?.name;
  if (!host && needed !== undefined)
    throw new GeodeError('invalid_input', `The tool ${needed} needs a host that answers.`);
  if (!host && (config.dangerous === 'ask' || config.permissions !== 'all'))
    throw new GeodeError(
      'invalid_input',
      'Without a host nobody can be asked: set dangerous to refuse and permissions to all.',
    );
  return parsed.data;
}

function failure(request_id: string | null, error: unknown): AgentResponse {
  const code = isGeodeError(error) ? error.code : 'internal';
  const message = (reasonOf(error) || 'No reason was given.').slice(0, 20_000);
  return { status: 'error', request_id, version: agentVersion, error: { code, message } };
}

/** The only output. Nothing else in this program writes to stdout or to the response descriptor. */
class Output {
  /** Known after the request was read. */
  secret: string | undefined;
  readonly #options: AgentStdinOptions;
  readonly #write: NonNullable<AgentStdinOptions['write']>;
  #number = 0;

  constructor(options: AgentStdinOptions) {
    this.#options = options;
    this.#write = options.write ?? writeAll;
  }

  send(line: AgentLine): void {
    // The leading line break ends a line that a tool may have left open.
    if (this.#options.events) this.#write(1, `\n${this.#signed(plain(line))}\n`);
  }

  respond(given: AgentResponse): void {
    const { events, responseFd } = this.#options;
    const response = bounded(given);
    if (events) this.send({ type: 'response', response });
    const line = plain(response);
    if (responseFd !== null) this.#write(responseFd, `${this.#signed(line)}\n`);
    else if (!events) this.#write(1, `${startMark}\n${this.#signed(line)}\n${endMark}\n`);
  }

  #signed(text: string): string {
    if (this.secret === undefined) return text;
    this.#number += 1;
    return signedLine(this.secret, this.#number, text);
  }
}

/** Escaped, so that no text in it can look like a marker. */
function plain(value: object): string {
  return JSON.stringify(value).replaceAll('<', '\\u003c');
}

function bounded(response: AgentResponse): AgentResponse {
  const size = Buffer.byteLength(plain(response));
  if (size <= mostBytes) return response;
  const message = `The response has ${size} bytes; the maximum is ${mostBytes}.`;
  return failure(response.request_id, new GeodeError('too_large', message));
}

/** Writes everything before it returns, because the program may exit right after. */
function writeAll(descriptor: number, text: string): void {
  let bytes = Buffer.from(text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes));
    } catch (error) {
      // The pipe is full; try again.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
