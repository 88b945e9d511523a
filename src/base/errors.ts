/**
 * The one error class and the closed catalogue of codes.
 *
 * Every failure that a caller can act on is a `GeodeError` whose code is listed here with the HTTP status
 * it maps to and the next step for a person. A command that exits non-zero is a result, never an error.
 * `docs/errors.md` is generated from this table (`npm run docs`) and a test compares the two.
 */
export const errorCatalogue = {
  // asking
  invalid_input: {
    status: 400,
    hint: 'Correct the field that the message names and send the request again.',
  },
  invalid_config: {
    status: 400,
    hint: 'Run `geode config` to see the effective values and where each came from.',
  },
  invalid_path: { status: 400, hint: 'Give a path that stays inside the sandbox and has no NUL byte.' },
  too_large: { status: 413, hint: 'Send less at once, or use the streaming call.' },
  command_blocked: {
    status: 403,
    hint: 'The command policy refused this command. Rephrase it, or change `security.shell` in the config.',
  },
  mount_refused: {
    status: 403,
    hint: 'Only existing folders below `security.mount_roots` can be mounted, and never secrets, sockets or devices.',
  },
  // runtimes
  runtime_unavailable: { status: 503, hint: 'Run `geode doctor` to see what is missing and how to fix it.' },
  cannot_enforce: {
    status: 422,
    hint: 'This runtime cannot honour that field. Drop it, set it to null where allowed, or choose another runtime.',
  },
  image_missing: { status: 404, hint: 'Pull or build the image first, or name another one.' },
  image_not_allowed: {
    status: 403,
    hint: 'Name an image that is here or from an allowed registry, or have the registry added to `images.registries`.',
  },
  pull_failed: {
    status: 502,
    hint: 'Check the name of the image and that its registry can be reached, then try again.',
  },
  build_failed: {
    status: 422,
    hint: 'The message has the end of the output. Correct what it names, such as the base or the mirror, and build again.',
  },
  image_in_use: { status: 409, hint: 'Remove the sandboxes that were made of it first: `geode sandbox ls`.' },
  engine_failed: { status: 502, hint: 'The container engine refused; the message carries its own words.' },
  // sandboxes
  sandbox_gone: { status: 410, hint: 'The sandbox has ended. Open a new one.' },
  sandbox_not_found: { status: 404, hint: 'List the sandboxes to see which there are, or make this one.' },
  sandbox_exists: {
    status: 409,
    hint: 'Use the one that is there, remove it first, or choose another name.',
  },
  sandbox_stopped: { status: 409, hint: 'Start it again; its files are still there.' },
  too_many_sandboxes: {
    status: 429,
    hint: 'Stop one that is not needed, or raise `sandbox.most` or `sandbox.most_per_user`.',
  },
  ledger_held: {
    status: 409,
    hint: 'Use the sandboxes through the host that holds the ledger, or take over.',
  },
  no_gateway: {
    status: 409,
    hint: 'Start `geode gateway`, or run `geode dashboard` where no host runs.',
  },
  host_lost: {
    status: 502,
    hint: 'What runs in the sandboxes goes on. Look at what became of the command before it is given again.',
  },
  ledger_failed: {
    status: 503,
    hint: 'Look at the message. Moved aside, the ledger is made anew from what is found of the sandboxes.',
  },
  sandbox_held: {
    status: 409,
    hint: 'Stop the other host first, or use the sandbox through it.',
  },
  sandbox_paused: { status: 409, hint: 'Resume the sandbox first; everything in it goes on where it was.' },
  sandbox_not_ready: {
    status: 504,
    hint: 'The guest did not answer in time. Run `geode doctor`, then try again.',
  },
  link_lost: {
    status: 503,
    hint: 'The connection to the sandbox was lost; it reconnects by itself. Try again.',
  },
  guest_protocol: {
    status: 502,
    hint: 'The guest broke the protocol and its sandbox was cut off. Open a new sandbox.',
  },
  guest_version: {
    status: 409,
    hint: 'This sandbox was made by another version of Geode. Stop it and open it again.',
  },
  tool_session_not_found: {
    status: 404,
    hint: 'Open one with `geode tools open CHAT`; `geode tools ls` shows which there are.',
  },
  tool_server_failed: {
    status: 502,
    hint: 'Run `geode tools servers` to see its state; the server is set in `mcp.servers`.',
  },
  // egress
  secret_missing: {
    status: 404,
    hint: 'Run `geode secrets ls` to see which there are; `geode secrets set` stores one.',
  },
  // approvals
  approval_not_found: { status: 404, hint: 'Run `geode approvals ls` to see what waits for a decision.' },
  approval_decided: {
    status: 409,
    hint: 'Look at what was decided; what is wanted now has to be asked again.',
  },
  too_many_approvals: {
    status: 429,
    hint: 'Decide what is open first: `geode approvals ls` shows it.',
  },
  // processes
  process_not_found: { status: 404, hint: 'List the processes of the sandbox to see which ids exist.' },
  spawn_failed: {
    status: 422,
    hint: 'Check that the program exists in the sandbox and that the working directory is there.',
  },
  tunnel_refused: {
    status: 502,
    hint: 'Nothing listens on that port inside the sandbox. Start the server first.',
  },
  // files
  file_not_found: { status: 404, hint: 'List the parent folder to see what is there.' },
  file_exists: { status: 409, hint: 'Remove it first, or ask to overwrite.' },
  file_refused: { status: 403, hint: 'The sandbox user may not do this to that file.' },
  not_a_file: {
    status: 409,
    hint: 'The path is of another kind (a folder, a link, a device) than the call needs.',
  },
  invalid_range: { status: 416, hint: 'Ask for bytes that the file has; its size is in the message.' },
  disk_full: { status: 507, hint: 'The sandbox has no space left. Remove files, or raise its disk limit.' },
  archive_refused: {
    status: 400,
    hint: 'The archive holds a path, link or device that could leave its folder. Nothing was written.',
  },
  // snapshots
  snapshot_not_found: { status: 404, hint: 'List the snapshots of the sandbox to see which exist.' },
  snapshot_exists: { status: 409, hint: 'Choose another name, or remove the old snapshot first.' },
  snapshot_limit: { status: 409, hint: 'Remove a snapshot that is no longer needed, then try again.' },
  snapshot_damaged: {
    status: 500,
    hint: 'The snapshot lost a part of its files on disk. Remove it; others are not affected.',
  },
  workspace_busy: {
    status: 409,
    hint: 'Wait for the other call on this workspace, or for the process that keeps changing it, then try again.',
  },
  // memory
  empty_query: {
    status: 400,
    hint: 'Say what to look for: a question, some words, a key or an error message.',
  },
  invalid_limit: { status: 400, hint: 'Use a whole number from 1 to 100 as limit and from 0 as offset.' },
  empty_content: { status: 400, hint: 'Give the entry some text besides white space.' },
  unknown_category: {
    status: 400,
    hint: 'List the categories to see which exist; storing an entry in a new one makes it.',
  },
  entry_not_found: { status: 404, hint: 'List the entries, or search for it by its words.' },
  too_much_pending: {
    status: 429,
    hint: 'Wait until indexing has caught up (`geode memory stats` shows what waits), or raise `memory.pending_text`.',
  },
  memory_down: { status: 503, hint: 'Run `geode doctor` to see which part of memory is down and why.' },
  embedder_failed: {
    status: 502,
    hint: 'Check the embedding provider in `memory.embedder`. What was stored is safe and is indexed later.',
  },
  model_unavailable: {
    status: 503,
    hint: 'Connect once to fetch the embedding model, or put its file into the cache folder by hand.',
  },
  model_changed: {
    status: 409,
    hint: 'The stored vectors come from another model. Run `geode memory reindex`, or set the old model again.',
  },
  // HTTP
  unauthorized: {
    status: 401,
    hint: 'Send `Authorization: Bearer <key>`. `geode keys create` makes a key.',
  },
  forbidden: {
    status: 403,
    hint: 'Use a key with the scope that the message names: `geode keys create --scope`.',
  },
  host_refused: {
    status: 403,
    hint: 'Use an IP address or localhost in the URL, or add the name to `gateway.allowed_hosts`.',
  },
  origin_refused: { status: 403, hint: "Add the page's origin to `gateway.allowed_origins`." },
  rate_limited: { status: 429, hint: 'Wait for the seconds in `Retry-After`, then go on more slowly.' },
  route_not_found: { status: 404, hint: 'Open `/reference` to see which paths and methods exist.' },
  unsupported_type: { status: 415, hint: 'Send the Content-Type that `/reference` names for this path.' },
  unreadable_file: {
    status: 422,
    hint: 'Send text in UTF-8 or UTF-16, Markdown, code, HTML, or a PDF that has text in it.',
  },
  upgrade_required: {
    status: 426,
    hint: 'Open this path as a WebSocket, or use the path beside it that streams events.',
  },
  key_not_found: { status: 404, hint: 'Run `geode keys list` to see which keys exist.' },
  server_unreachable: { status: 503, hint: 'Start it with `geode gateway`, or correct the URL.' },
  stopping: { status: 503, hint: 'The server is going down. Send the request again when it is back.' },
  // runs
  context_not_found: { status: 404, hint: 'List the contexts, or open a new one; idle ones are closed.' },
  run_not_found: { status: 404, hint: 'List the runs that are kept: `geode runs ls`; the oldest go first.' },
  queue_full: { status: 429, hint: 'Too many runs are waiting. Try again later, or raise `runs.queue`.' },
  // models
  no_provider: {
    status: 409,
    hint: 'Set `providers.services` and `providers.default` in the config; docs/models.md has examples.',
  },
  provider_refused: { status: 502, hint: "Check the service's key and account in `providers.services`." },
  provider_limited: { status: 429, hint: 'Wait a little and try again, or choose another model.' },
  provider_failed: { status: 502, hint: 'Try again, or choose another model. What was used is accounted.' },
  provider_unreachable: { status: 502, hint: "Check the service's `base_url` and that it runs." },
  answer_unusable: {
    status: 502,
    hint: 'The model did not answer in the form that was asked for. Try again, or choose another model.',
  },
  solve_not_found: { status: 404, hint: 'Run `geode solve ls` to see which there are.' },
  budget_spent: {
    status: 402,
    hint: 'Raise `providers.daily_budget` or `daily_tokens`, or wait until tomorrow (UTC).',
  },
  // agents
  agent_not_found: { status: 404, hint: 'Run `geode agent ls` to see which conversations there are.' },
  agent_busy: {
    status: 409,
    hint: 'Wait for the end of the turn, or interrupt it: `geode agent interrupt`.',
  },
  agent_mismatch: {
    status: 409,
    hint: 'Use the driver and the model that the conversation has, or stop it and begin anew.',
  },
  agent_unavailable: {
    status: 422,
    hint: 'Install the program of the agent in the image, or name its folder in the config; docs/agents.md says how.',
  },
  agent_failed: {
    status: 502,
    hint: 'The program of the agent ended without an answer; its own words are in the message. Try again.',
  },
  agent_ended: {
    status: 502,
    hint: 'Write again to go on from there; `geode agent log` says how far it came. Raise the limits in `container_agent` if it needs more.',
  },
  // chats
  lease_lost: {
    status: 409,
    hint: 'Another worker has the message; its answer counts.',
  },
  chat_not_found: { status: 404, hint: 'Run `geode chat ls` to see which there are.' },
  pairing_not_found: {
    status: 404,
    hint: 'Codes are valid for a short time. Ask the sender to write again, which gives a new one.',
  },
  bus_failed: {
    status: 503,
    hint: 'Look whether PostgreSQL runs and `chat.bus` is its address; nothing that was accepted is lost.',
  },
  schedule_not_found: { status: 404, hint: 'Run `geode schedule ls` to see which there are.' },
  too_many_schedules: {
    status: 429,
    hint: 'End one of them first: `geode schedule rm ID`, or `/unschedule ID` in the chat.',
  },
  channel_failed: { status: 502, hint: 'Run `geode status` to see the state of each channel.' },
  // waiting
  timed_out: { status: 504, hint: 'Give it a longer deadline, or look at what it is waiting for.' },
  cancelled: { status: 499, hint: 'The caller gave up; nothing is left behind.' },
  internal: { status: 500, hint: 'This is a defect in Geode. Please report it with the message.' },
} as const satisfies Record<string, { status: number; hint: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

export interface GeodeErrorOptions {
  /** Replaces the catalogue's hint where the place of failure knows a better next step. */
  readonly hint?: string;
  /** Facts for programs: never secrets, never host paths that the caller did not give. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

const mark = Symbol.for('geode.error');

export class GeodeError extends Error {
  /** There may be two copies of this class in one process, of the bundled commands and of what they load. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && mark in value;
  }

  override readonly name = 'GeodeError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly hint: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: GeodeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = errorCatalogue[code].status;
    this.hint = options.hint ?? errorCatalogue[code].hint;
    this.details = options.details ?? {};
  }

  get [mark](): true {
    return true;
  }

  /** The shape that leaves the process: over HTTP, and from the CLI with `--json`. */
  toJSON(): { error: string; code: ErrorCode; hint: string; details?: Readonly<Record<string, unknown>> } {
    const body = { error: this.message, code: this.code, hint: this.hint };
    return Object.keys(this.details).length > 0 ? { ...body, details: this.details } : body;
  }
}

export function isGeodeError(value: unknown, code?: ErrorCode): value is GeodeError {
  return value instanceof GeodeError && (code === undefined || value.code === code);
}

/** What anything thrown is worth saying: the message, never a stack. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
