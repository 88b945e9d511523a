/**
 * The closed catalogue of error codes: each has the HTTP status and the next step for a person. `docs/errors.md` is
 * generated from this table (`npm run docs`) and a test compares the two.
 */
export const errorCatalogue = {
  // requests
  invalid_input: {
    status: 400,
    hint: 'Correct the field named in the message and send the request again.',
  },
  invalid_config: {
    status: 400,
    hint: 'Run `geode config` to see all values and where each was set.',
  },
  invalid_path: { status: 400, hint: 'Use a path inside the sandbox, without a NUL byte.' },
  too_large: { status: 413, hint: 'Send less data at once, or use the streaming call.' },
  command_blocked: {
    status: 403,
    hint: 'The command policy refused this command. Change the command, or `security.shell` in the config.',
  },
  mount_refused: {
    status: 403,
    hint: 'Mount an existing folder below `security.mount_roots`, without secrets, sockets or devices.',
  },
  // runtimes
  runtime_unavailable: { status: 503, hint: 'Run `geode doctor` to see what is missing and how to fix it.' },
  cannot_enforce: {
    status: 422,
    hint: 'This runtime cannot enforce that field. Leave it out, set it to null if allowed, or choose another runtime.',
  },
  image_missing: { status: 404, hint: 'Pull or build the image first, or choose another one.' },
  image_not_allowed: {
    status: 403,
    hint: 'Use a local image or one from an allowed registry, or add the registry to `images.registries`.',
  },
  pull_failed: {
    status: 502,
    hint: 'Check the image name and the connection to its registry, then try again.',
  },
  build_failed: {
    status: 422,
    hint: 'The message shows the end of the output. Fix the problem, such as the base image or the mirror, and build again.',
  },
  image_in_use: { status: 409, hint: 'Remove the sandboxes that use it first: `geode sandbox ls`.' },
  engine_failed: { status: 502, hint: 'The container engine failed; the message shows its error.' },
  // sandboxes
  sandbox_gone: { status: 410, hint: 'The sandbox has ended. Open a new one.' },
  sandbox_not_found: { status: 404, hint: 'List sandboxes with `geode sandbox ls`, or create this one.' },
  sandbox_exists: {
    status: 409,
    hint: 'Use the existing sandbox, remove it first, or choose another name.',
  },
  sandbox_stopped: { status: 409, hint: 'Start the sandbox; its files are still there.' },
  too_many_sandboxes: {
    status: 429,
    hint: 'Stop a sandbox that you do not need, or raise `sandbox.most` or `sandbox.most_per_user`.',
  },
  ledger_held: {
    status: 409,
    hint: 'Use the running host, or stop it with `--take-over`.',
  },
  no_gateway: {
    status: 409,
    hint: 'Start `geode gateway`, or stop the running host and run `geode dashboard`.',
  },
  host_lost: {
    status: 502,
    hint: 'Sandboxes keep running. Check whether the command finished (`geode sandbox logs`) before you run it again.',
  },
  ledger_failed: {
    status: 503,
    hint: 'See the message for the cause. If the file is damaged, rename it: Geode rebuilds it from the sandboxes at the next start.',
  },
  state_newer: {
    status: 409,
    hint: 'Use that version of Geode or a newer one, or set `sandbox.state_dir` to another folder.',
  },
  sandbox_held: {
    status: 409,
    hint: 'Stop the other host first, or use the sandbox through that host.',
  },
  sandbox_paused: { status: 409, hint: 'Resume the sandbox first: `geode sandbox resume`.' },
  sandbox_not_ready: {
    status: 504,
    hint: 'The guest did not answer in time. Run `geode doctor`, then try again.',
  },
  link_lost: {
    status: 503,
    hint: 'Try again. Geode reconnects to the sandbox by itself.',
  },
  guest_protocol: {
    status: 502,
    hint: 'The guest violated the protocol, so Geode closed the sandbox. Open a new one.',
  },
  guest_version: {
    status: 409,
    hint: 'Another version of Geode created this sandbox. Stop it and start it again.',
  },
  tool_session_not_found: {
    status: 404,
    hint: 'Open one: `geode tools open CHAT`. List them: `geode tools ls`.',
  },
  tool_server_failed: {
    status: 502,
    hint: 'Run `geode tools servers` to see its state. Configure it in `mcp.servers`.',
  },
  // egress
  secret_missing: {
    status: 404,
    hint: 'Store it: `geode secrets set NAME`. List secrets: `geode secrets ls`.',
  },
  // webhooks
  webhook_not_found: { status: 404, hint: 'List webhooks: `geode webhook ls`.' },
  too_many_webhooks: { status: 429, hint: 'Remove a webhook first: `geode webhook rm NAME`.' },
  // approvals
  approval_not_found: { status: 404, hint: 'List open approvals: `geode approvals ls`.' },
  approval_decided: {
    status: 409,
    hint: 'The first decision counts. Make the request again to get a new approval.',
  },
  too_many_approvals: {
    status: 429,
    hint: 'Decide open approvals first: `geode approvals ls`.',
  },
  // processes
  process_not_found: { status: 404, hint: 'List the processes of the sandbox: `geode sandbox ps`.' },
  spawn_failed: {
    status: 422,
    hint: 'Check that the program and the working directory exist in the sandbox.',
  },
  tunnel_refused: {
    status: 502,
    hint: 'Nothing listens on that port inside the sandbox. Start the server first.',
  },
  // files
  file_not_found: { status: 404, hint: 'List the parent folder to see its files.' },
  file_exists: { status: 409, hint: 'Remove the file first, or allow overwriting.' },
  file_refused: { status: 403, hint: 'The sandbox user has no permission for this file.' },
  not_a_file: {
    status: 409,
    hint: 'The path is a folder, link or device. Use a path of the type that the call needs.',
  },
  invalid_range: { status: 416, hint: 'Request a range within the file; its size is in the message.' },
  disk_full: { status: 507, hint: 'Remove files in the sandbox, or raise its disk limit.' },
  archive_refused: {
    status: 400,
    hint: 'Remove paths, links or devices that point outside the archive. Nothing was written.',
  },
  // snapshots
  snapshot_not_found: { status: 404, hint: 'List the snapshots: `geode sandbox snapshot --list`.' },
  snapshot_exists: { status: 409, hint: 'Choose another name, or remove the old snapshot first.' },
  snapshot_limit: { status: 409, hint: 'Remove a snapshot that you do not need, then try again.' },
  snapshot_damaged: {
    status: 500,
    hint: 'Remove this snapshot: some of its files are missing on disk. Others are not affected.',
  },
  // checkpoints
  checkpoint_not_found: { status: 404, hint: 'List the checkpoints: `geode sandbox checkpoint ls`.' },
  checkpoint_exists: { status: 409, hint: 'Choose another name, or remove the old checkpoint first.' },
  checkpoint_limit: {
    status: 409,
    hint: 'Remove a checkpoint: `geode sandbox checkpoint rm`. The maximum is `sandbox.checkpoints`.',
  },
  checkpoint_damaged: {
    status: 500,
    hint: 'Remove this checkpoint. To drop the memory of a hibernated sandbox and keep its files: `geode sandbox stop`.',
  },
  checkpoint_version: {
    status: 409,
    hint: 'Install the version that saved it, or remove the checkpoint. To drop the memory of a hibernated sandbox and keep its files: `geode sandbox stop`.',
  },
  workspace_busy: {
    status: 409,
    hint: 'Wait for the other operation on this workspace, or for the process that changes it, then try again.',
  },
  // memory
  empty_query: {
    status: 400,
    hint: 'Give a search text: a question, words, a key or an error message.',
  },
  invalid_limit: { status: 400, hint: 'Use a whole number from 1 to 100 as limit and from 0 as offset.' },
  empty_content: { status: 400, hint: 'Give the entry some text.' },
  unknown_category: {
    status: 400,
    hint: 'List the existing categories. Storing an entry in a new category creates it.',
  },
  entry_not_found: { status: 404, hint: 'List entries (`geode memory ls`), or search for it.' },
  too_much_pending: {
    status: 429,
    hint: 'Wait for the index (`geode memory stats`), or raise `memory.pending_text`.',
  },
  memory_down: { status: 503, hint: 'Run `geode doctor` to see which part of memory is down and why.' },
  embedder_failed: {
    status: 502,
    hint: 'Check the embedding provider in `memory.embedder`. Stored entries are safe and are indexed later.',
  },
  model_unavailable: {
    status: 503,
    hint: 'Connect to the internet once to download the embedding model, or copy its file into the cache folder.',
  },
  model_changed: {
    status: 409,
    hint: 'Another model made the stored vectors. Run `geode memory reindex`, or configure the old model again.',
  },
  // HTTP
  unauthorized: {
    status: 401,
    hint: 'Send `Authorization: Bearer <key>`. Create a key: `geode keys create`.',
  },
  forbidden: {
    status: 403,
    hint: 'Use a key with the scope named in the message: `geode keys create --scope SCOPE`.',
  },
  host_refused: {
    status: 403,
    hint: 'Use an IP address or localhost in the URL, or add the name to `gateway.allowed_hosts`.',
  },
  origin_refused: { status: 403, hint: "Add the page's origin to `gateway.allowed_origins`." },
  rate_limited: { status: 429, hint: 'Wait for the seconds in `Retry-After`, then send fewer requests.' },
  route_not_found: { status: 404, hint: 'See `/reference` for all paths and methods.' },
  unsupported_type: { status: 415, hint: 'Send the Content-Type listed in `/reference` for this path.' },
  unreadable_file: {
    status: 422,
    hint: 'Send text in UTF-8 or UTF-16, Markdown, code, HTML, or a PDF with text.',
  },
  upgrade_required: {
    status: 426,
    hint: 'Open this path as a WebSocket, or use the HTTP path that streams events.',
  },
  key_not_found: { status: 404, hint: 'List keys: `geode keys ls`.' },
  server_unreachable: { status: 503, hint: 'Start it with `geode gateway`, or correct the URL.' },
  stopping: { status: 503, hint: 'The server is stopping. Try again when it is back.' },
  // runs
  context_not_found: {
    status: 404,
    hint: 'List the contexts, or open a new one. Geode closes idle contexts.',
  },
  run_not_found: {
    status: 404,
    hint: 'List the stored runs: `geode runs ls`. Geode deletes the oldest first.',
  },
  queue_full: { status: 429, hint: 'Too many runs are waiting. Try again later, or raise `runs.queue`.' },
  // models
  no_provider: { status: 409, hint: 'Set one up: `geode onboard provider`.' },
  setting_overridden: {
    status: 409,
    hint: 'Remove the variable where Geode starts, restart it, and try again.',
  },
  provider_refused: { status: 502, hint: "Check the service's key and account in `providers.services`." },
  provider_limited: { status: 429, hint: 'Wait a little and try again, or choose another model.' },
  provider_failed: { status: 502, hint: 'Try again, or choose another model. Used tokens are counted.' },
  provider_unreachable: { status: 502, hint: "Check the service's `base_url` and that it runs." },
  answer_unusable: {
    status: 502,
    hint: 'Try again, or choose another model: the answer did not have the required form.',
  },
  solve_not_found: { status: 404, hint: 'List solves: `geode solve ls`.' },
  budget_spent: {
    status: 402,
    hint: 'Raise `providers.daily_budget` or `daily_tokens`, or wait until tomorrow (UTC).',
  },
  // agents
  agent_not_found: { status: 404, hint: 'List conversations: `geode agent ls`.' },
  agent_busy: {
    status: 409,
    hint: 'Wait for the current turn to end, or stop it: `geode agent interrupt`.',
  },
  agent_mismatch: {
    status: 409,
    hint: "Use the conversation's driver and model, or delete it (`geode agent stop`) and start a new one.",
  },
  turn_not_found: { status: 404, hint: 'List the turns of a chat: `geode replay CHAT`.' },
  turn_not_recorded: {
    status: 409,
    hint: 'Choose a later turn: `geode replay CHAT` shows which can be played again.',
  },
  agent_unavailable: {
    status: 422,
    hint: "Install the agent's program in the image, or set its folder in the config: see docs/agents.md.",
  },
  agent_failed: {
    status: 502,
    hint: "Try again. The agent's program exited without an answer; the message shows its output.",
  },
  agent_ended: {
    status: 502,
    hint: 'Send another message to continue; `geode agent log` shows the progress. Raise the limits in `container_agent` if needed.',
  },
  // chats
  lease_lost: {
    status: 409,
    hint: 'Ignore this answer: another worker has taken over the message.',
  },
  chat_not_found: { status: 404, hint: 'List chats: `geode chat ls`.' },
  pairing_not_found: {
    status: 404,
    hint: 'The code has expired. Ask the sender to write again to get a new one.',
  },
  bus_failed: {
    status: 503,
    hint: 'Check that PostgreSQL is running and that `chat.bus` is its address. Accepted messages are not lost.',
  },
  schedule_not_found: { status: 404, hint: 'List schedules: `geode schedule ls`.' },
  too_many_schedules: {
    status: 429,
    hint: 'Remove a schedule first: `geode schedule rm ID`, or `/unschedule ID` in the chat.',
  },
  channel_failed: { status: 502, hint: 'Run `geode status` to see the state of each channel.' },
  // backups
  backup_not_found: { status: 404, hint: 'List backups: `geode backup ls`.' },
  backup_damaged: {
    status: 422,
    hint: 'Use another backup: `geode backup ls`, then `geode backup verify NAME`.',
  },
  backup_locked: { status: 403, hint: 'Give the passphrase of this backup: `--passphrase-file FILE`.' },
  home_in_use: {
    status: 409,
    hint: 'Restore over the existing state with `--replace`, which keeps the old one beside it.',
  },
  // upgrades
  upgrade_failed: {
    status: 500,
    hint: 'The version from before still works. Repeat it when the reason is gone.',
  },
  no_upgrade: { status: 404, hint: 'List backups: `geode backup ls`.' },
  // waiting
  timed_out: { status: 504, hint: 'Set a longer timeout, or find out why it is slow.' },
  cancelled: { status: 499, hint: 'The caller cancelled the request; nothing is left behind.' },
  internal: { status: 500, hint: 'This is a defect in Geode. Please report it with the message.' },
} as const satisfies Record<string, { status: number; hint: string }>;
