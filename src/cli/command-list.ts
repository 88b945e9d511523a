/** Every command, in the order of `geode --help`. Made of the files in `commands` by `npm run docs`. */
import type { CommandEntry } from './command.ts';

export const commands: readonly CommandEntry[] = [
  {
    name: 'onboard',
    summary: 'Set up providers, runtime, channels and budget',
    load: async () => (await import('./commands/onboard.ts')).onboardCommand,
  },
  {
    name: 'run',
    summary: 'Run code in a fresh sandbox',
    load: async () => (await import('./commands/run.ts')).runCommand,
  },
  {
    name: 'repl',
    summary: 'Start an interpreter that keeps its variables',
    load: async () => (await import('./commands/repl.ts')).replCommand,
  },
  {
    name: 'runs ls',
    summary: 'List finished runs, newest first',
    load: async () => (await import('./commands/runs/ls.ts')).runsLsCommand,
  },
  {
    name: 'runs show',
    summary: 'Show a finished run: code, output, exit',
    load: async () => (await import('./commands/runs/show.ts')).runsShowCommand,
  },
  {
    name: 'exec',
    summary: 'Run one command in a fresh sandbox',
    load: async () => (await import('./commands/exec.ts')).execCommand,
  },
  {
    name: 'shell',
    summary: 'Open a terminal in a sandbox',
    load: async () => (await import('./commands/shell.ts')).shellCommand,
  },
  {
    name: 'sandbox create',
    summary: 'Create a sandbox that stays',
    load: async () => (await import('./commands/sandbox/create.ts')).sandboxCreateCommand,
  },
  {
    name: 'sandbox ls',
    summary: 'List sandboxes with state and isolation',
    load: async () => (await import('./commands/sandbox/ls.ts')).sandboxLsCommand,
  },
  {
    name: 'sandbox start',
    summary: 'Start stopped sandboxes',
    load: async () => (await import('./commands/sandbox/start.ts')).sandboxStartCommand,
  },
  {
    name: 'sandbox stop',
    summary: 'Stop sandboxes and keep their files',
    load: async () => (await import('./commands/sandbox/stop.ts')).sandboxStopCommand,
  },
  {
    name: 'sandbox rm',
    summary: 'Remove sandboxes with their files and journals',
    load: async () => (await import('./commands/sandbox/rm.ts')).sandboxRmCommand,
  },
  {
    name: 'sandbox exec',
    summary: 'Run a command in a sandbox',
    load: async () => (await import('./commands/sandbox/exec.ts')).sandboxExecCommand,
  },
  {
    name: 'sandbox cp',
    summary: 'Copy files into or out of a sandbox',
    load: async () => (await import('./commands/sandbox/cp.ts')).sandboxCpCommand,
  },
  {
    name: 'sandbox logs',
    summary: "Show the output of a sandbox's commands",
    load: async () => (await import('./commands/sandbox/logs.ts')).sandboxLogsCommand,
  },
  {
    name: 'sandbox ps',
    summary: 'List the processes of a sandbox',
    load: async () => (await import('./commands/sandbox/ps.ts')).sandboxPsCommand,
  },
  {
    name: 'sandbox stats',
    summary: 'Show CPU, memory, process and disk use of sandboxes',
    load: async () => (await import('./commands/sandbox/stats.ts')).sandboxStatsCommand,
  },
  {
    name: 'sandbox pause',
    summary: 'Pause sandboxes',
    load: async () => (await import('./commands/sandbox/pause.ts')).sandboxPauseCommand,
  },
  {
    name: 'sandbox resume',
    summary: 'Resume paused sandboxes',
    load: async () => (await import('./commands/sandbox/resume.ts')).sandboxResumeCommand,
  },
  {
    name: 'sandbox hibernate',
    summary: 'Save the memory of sandboxes on disk and free it',
    load: async () => (await import('./commands/sandbox/hibernate.ts')).sandboxHibernateCommand,
  },
  {
    name: 'sandbox snapshot',
    summary: 'Save the files of a sandbox, or list its snapshots',
    load: async () => (await import('./commands/sandbox/snapshot.ts')).sandboxSnapshotCommand,
  },
  {
    name: 'sandbox restore',
    summary: 'Restore files from a snapshot',
    load: async () => (await import('./commands/sandbox/restore.ts')).sandboxRestoreCommand,
  },
  {
    name: 'sandbox diff',
    summary: 'Show which files changed since a snapshot',
    load: async () => (await import('./commands/sandbox/diff.ts')).sandboxDiffCommand,
  },
  {
    name: 'sandbox undo',
    summary: 'Undo the file changes of the last undoable command',
    load: async () => (await import('./commands/sandbox/undo.ts')).sandboxUndoCommand,
  },
  {
    name: 'sandbox fork',
    summary: 'Copy a sandbox with its files, or also with its processes',
    load: async () => (await import('./commands/sandbox/fork.ts')).sandboxForkCommand,
  },
  {
    name: 'sandbox checkpoint',
    summary: 'Save a running sandbox with its processes and memory',
    load: async () => (await import('./commands/sandbox/checkpoint.ts')).sandboxCheckpointCommand,
  },
  {
    name: 'sandbox open',
    summary: 'Open a port of a sandbox at a local URL',
    load: async () => (await import('./commands/sandbox/open.ts')).sandboxOpenCommand,
  },
  {
    name: 'sandbox extend',
    summary: 'Keep an idle sandbox running for some time',
    load: async () => (await import('./commands/sandbox/extend.ts')).sandboxExtendCommand,
  },
  {
    name: 'sandbox rename',
    summary: 'Rename a sandbox',
    load: async () => (await import('./commands/sandbox/rename.ts')).sandboxRenameCommand,
  },
  {
    name: 'agent-stdin',
    summary: 'Answer one request on stdin with the built-in agent',
    load: async () => (await import('./commands/agent-stdin.ts')).agentStdinCommand,
  },
  {
    name: 'agent',
    summary: 'Send a message to an agent that works in a sandbox',
    load: async () => (await import('./commands/agent/agent.ts')).agentCommand,
  },
  {
    name: 'agent ls',
    summary: 'List conversations with agents',
    load: async () => (await import('./commands/agent/ls.ts')).agentLsCommand,
  },
  {
    name: 'agent log',
    summary: 'Show what an agent wrote and did',
    load: async () => (await import('./commands/agent/log.ts')).agentLogCommand,
  },
  {
    name: 'replay',
    summary: 'Play a recorded turn of an agent again, or try another model on it',
    load: async () => (await import('./commands/replay.ts')).replayCommand,
  },
  {
    name: 'agent fork',
    summary: 'Copy a conversation and its files into a new chat',
    load: async () => (await import('./commands/agent/fork.ts')).agentForkCommand,
  },
  {
    name: 'agent interrupt',
    summary: 'Stop the current turn',
    load: async () => (await import('./commands/agent/interrupt.ts')).agentInterruptCommand,
  },
  {
    name: 'agent stop',
    summary: 'End and delete a conversation; keep the files',
    load: async () => (await import('./commands/agent/stop.ts')).agentStopCommand,
  },
  {
    name: 'claude',
    summary: 'Run Claude Code in a sandbox',
    load: async () => (await import('./commands/claude.ts')).claudeCommand,
  },
  {
    name: 'chat',
    summary: 'Talk to an agent, here or on a channel',
    load: async () => (await import('./commands/chat/chat.ts')).chatCommand,
  },
  {
    name: 'chat ls',
    summary: 'List chats on all channels',
    load: async () => (await import('./commands/chat/ls.ts')).chatLsCommand,
  },
  {
    name: 'chat export',
    summary: 'Export a chat as lines of JSON',
    load: async () => (await import('./commands/chat/export.ts')).chatExportCommand,
  },
  {
    name: 'chat pair',
    summary: 'Pair a person by code, or list who is waiting',
    load: async () => (await import('./commands/chat/pair.ts')).chatPairCommand,
  },
  {
    name: 'chat unpair',
    summary: 'Unpair a person, or list paired people',
    load: async () => (await import('./commands/chat/unpair.ts')).chatUnpairCommand,
  },
  {
    name: 'chat audit',
    summary: 'Show the log of pairings and schedules',
    load: async () => (await import('./commands/chat/audit.ts')).chatAuditCommand,
  },
  {
    name: 'schedule ls',
    summary: 'List scheduled messages',
    load: async () => (await import('./commands/schedule/ls.ts')).scheduleLsCommand,
  },
  {
    name: 'schedule add',
    summary: 'Schedule a message',
    load: async () => (await import('./commands/schedule/add.ts')).scheduleAddCommand,
  },
  {
    name: 'schedule rm',
    summary: 'Remove a schedule',
    load: async () => (await import('./commands/schedule/rm.ts')).scheduleRmCommand,
  },
  {
    name: 'solve',
    summary: 'Solve a problem by writing and running code',
    load: async () => (await import('./commands/solve/solve.ts')).solveCommand,
  },
  {
    name: 'solve ls',
    summary: 'List solves, newest first',
    load: async () => (await import('./commands/solve/ls.ts')).solveLsCommand,
  },
  {
    name: 'solve show',
    summary: 'Show the attempts of a solve',
    load: async () => (await import('./commands/solve/show.ts')).solveShowCommand,
  },
  {
    name: 'solve resume',
    summary: 'Resume an interrupted solve',
    load: async () => (await import('./commands/solve/resume.ts')).solveResumeCommand,
  },
  {
    name: 'crystals ls',
    summary: 'List saved solutions (crystals), newest first',
    load: async () => (await import('./commands/crystals/ls.ts')).crystalsLsCommand,
  },
  {
    name: 'crystals show',
    summary: 'Show a crystal',
    load: async () => (await import('./commands/crystals/show.ts')).crystalsShowCommand,
  },
  {
    name: 'crystals pin',
    summary: 'Pin a crystal',
    load: async () => (await import('./commands/crystals/pin.ts')).crystalsPinCommand,
  },
  {
    name: 'crystals edit',
    summary: 'Change the problem, solution or checks of a crystal',
    load: async () => (await import('./commands/crystals/edit.ts')).crystalsEditCommand,
  },
  {
    name: 'crystals verify',
    summary: 'Run crystals against their checks again',
    load: async () => (await import('./commands/crystals/verify.ts')).crystalsVerifyCommand,
  },
  {
    name: 'crystals rm',
    summary: 'Remove crystals',
    load: async () => (await import('./commands/crystals/rm.ts')).crystalsRmCommand,
  },
  {
    name: 'egress ls',
    summary: 'Show the network policy of a sandbox',
    load: async () => (await import('./commands/egress/ls.ts')).egressLsCommand,
  },
  {
    name: 'egress default',
    summary: 'Show or set the default network policy',
    load: async () => (await import('./commands/egress/default.ts')).egressDefaultCommand,
  },
  {
    name: 'egress allow',
    summary: 'Allow a sandbox to reach a host',
    load: async () => (await import('./commands/egress/allow.ts')).egressAllowCommand,
  },
  {
    name: 'egress deny',
    summary: 'Deny a sandbox access to a host',
    load: async () => (await import('./commands/egress/deny.ts')).egressDenyCommand,
  },
  {
    name: 'egress ask',
    summary: 'Ask you about hosts that no rule covers',
    load: async () => (await import('./commands/egress/ask.ts')).egressAskCommand,
  },
  {
    name: 'egress learn',
    summary: 'Record what a sandbox reaches and make it a policy',
    load: async () => (await import('./commands/egress/learn.ts')).egressLearnCommand,
  },
  {
    name: 'egress log',
    summary: 'Show network requests, newest first',
    load: async () => (await import('./commands/egress/log.ts')).egressLogCommand,
  },
  {
    name: 'egress usage',
    summary: 'Show model use through bindings: tokens and cost',
    load: async () => (await import('./commands/egress/usage.ts')).egressUsageCommand,
  },
  {
    name: 'approvals ls',
    summary: 'List requests that wait for your decision',
    load: async () => (await import('./commands/approvals/ls.ts')).approvalsLsCommand,
  },
  {
    name: 'approvals allow',
    summary: 'Allow a request',
    load: async () => (await import('./commands/approvals/allow.ts')).approvalsAllowCommand,
  },
  {
    name: 'approvals deny',
    summary: 'Deny a request',
    load: async () => (await import('./commands/approvals/deny.ts')).approvalsDenyCommand,
  },
  {
    name: 'approvals watch',
    summary: 'Show new requests until Ctrl-C',
    load: async () => (await import('./commands/approvals/watch.ts')).approvalsWatchCommand,
  },
  {
    name: 'webhook add',
    summary: 'Send events of your sandboxes to a server of yours',
    load: async () => (await import('./commands/webhook/add.ts')).webhookAddCommand,
  },
  {
    name: 'webhook ls',
    summary: 'List webhooks',
    load: async () => (await import('./commands/webhook/ls.ts')).webhookLsCommand,
  },
  {
    name: 'webhook log',
    summary: 'List the calls of a webhook',
    load: async () => (await import('./commands/webhook/log.ts')).webhookLogCommand,
  },
  {
    name: 'webhook rm',
    summary: 'Remove a webhook',
    load: async () => (await import('./commands/webhook/rm.ts')).webhookRmCommand,
  },
  {
    name: 'secrets set',
    summary: 'Store a credential that never enters a sandbox',
    load: async () => (await import('./commands/secrets/set.ts')).secretsSetCommand,
  },
  {
    name: 'secrets ls',
    summary: 'List the names of your secrets',
    load: async () => (await import('./commands/secrets/ls.ts')).secretsLsCommand,
  },
  {
    name: 'secrets rm',
    summary: 'Remove a secret',
    load: async () => (await import('./commands/secrets/rm.ts')).secretsRmCommand,
  },
  {
    name: 'secrets rotate',
    summary: 'Encrypt all secrets with a new key',
    load: async () => (await import('./commands/secrets/rotate.ts')).secretsRotateCommand,
  },
  {
    name: 'mcp',
    summary: "Serve Geode's tools over MCP (stdio)",
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
  {
    name: 'image build',
    summary: "Build one of Geode's images with Docker or Podman",
    load: async () => (await import('./commands/image/build.ts')).imageBuildCommand,
  },
  {
    name: 'image pull',
    summary: 'fetch an image from its registry, if it is not here',
    load: async () => (await import('./commands/image/pull.ts')).imagePullCommand,
  },
  {
    name: 'image ls',
    summary: "list the images that Geode built, and those in Geode's own store",
    load: async () => (await import('./commands/image/ls.ts')).imageLsCommand,
  },
  {
    name: 'image rm',
    summary: "remove an image that Geode built, or one in Geode's own store",
    load: async () => (await import('./commands/image/rm.ts')).imageRmCommand,
  },
  {
    name: 'image import',
    summary: "take the images of an archive into Geode's own store",
    load: async () => (await import('./commands/image/import.ts')).imageImportCommand,
  },
  {
    name: 'image export',
    summary: "write an image of Geode's own store to an archive",
    load: async () => (await import('./commands/image/export.ts')).imageExportCommand,
  },
  {
    name: 'image prune',
    summary: "free what nothing in Geode's own store needs",
    load: async () => (await import('./commands/image/prune.ts')).imagePruneCommand,
  },
  {
    name: 'runtime install',
    summary: 'Build gVisor, so that sandboxes get a kernel of their own',
    load: async () => (await import('./commands/runtime/install.ts')).runtimeInstallCommand,
  },
  {
    name: 'tools open',
    summary: "Give programs in a sandbox the host's tools (MCP)",
    load: async () => (await import('./commands/tools/open.ts')).toolsOpenCommand,
  },
  {
    name: 'tools ls',
    summary: "List the sandboxes that have the host's tools",
    load: async () => (await import('./commands/tools/ls.ts')).toolsLsCommand,
  },
  {
    name: 'tools close',
    summary: "Take the host's tools from a sandbox",
    load: async () => (await import('./commands/tools/close.ts')).toolsCloseCommand,
  },
  {
    name: 'tools servers',
    summary: 'List the configured MCP servers and their tools',
    load: async () => (await import('./commands/tools/servers.ts')).toolsServersCommand,
  },
  {
    name: 'tools log',
    summary: 'Show tool calls from sandboxes, newest first',
    load: async () => (await import('./commands/tools/log.ts')).toolsLogCommand,
  },
  {
    name: 'memory add',
    summary: 'Store an entry',
    load: async () => (await import('./commands/memory/add.ts')).memoryAddCommand,
  },
  {
    name: 'memory export',
    summary: 'Export entries and their history as lines of JSON',
    load: async () => (await import('./commands/memory/export.ts')).memoryExportCommand,
  },
  {
    name: 'memory get',
    summary: 'Show an entry',
    load: async () => (await import('./commands/memory/get.ts')).memoryGetCommand,
  },
  {
    name: 'memory import',
    summary: 'Import files, folders or an export',
    load: async () => (await import('./commands/memory/import.ts')).memoryImportCommand,
  },
  {
    name: 'memory ls',
    summary: 'List entries, newest first',
    load: async () => (await import('./commands/memory/ls.ts')).memoryLsCommand,
  },
  {
    name: 'memory reindex',
    summary: 'Embed and index all entries again',
    load: async () => (await import('./commands/memory/reindex.ts')).memoryReindexCommand,
  },
  {
    name: 'memory rm',
    summary: 'Delete entries and their versions',
    load: async () => (await import('./commands/memory/rm.ts')).memoryRmCommand,
  },
  {
    name: 'memory search',
    summary: 'Search memory by meaning and by words',
    load: async () => (await import('./commands/memory/search.ts')).memorySearchCommand,
  },
  {
    name: 'memory audit',
    summary: 'Find secrets, contradictions, duplicates, unused entries',
    load: async () => (await import('./commands/memory/audit.ts')).memoryAuditCommand,
  },
  {
    name: 'memory stats',
    summary: 'Show counts and the state of memory',
    load: async () => (await import('./commands/memory/stats.ts')).memoryStatsCommand,
  },
  {
    name: 'gateway',
    summary: 'Run the host and serve the API on a port',
    load: async () => (await import('./commands/gateway.ts')).gatewayCommand,
  },
  {
    name: 'dashboard',
    summary: 'Open the dashboard (one-time link)',
    load: async () => (await import('./commands/dashboard.ts')).dashboardCommand,
  },
  {
    name: 'host',
    summary: 'Run the host without a port',
    load: async () => (await import('./commands/host/host.ts')).hostCommand,
  },
  {
    name: 'host status',
    summary: 'Show whether the host is healthy, and its work',
    load: async () => (await import('./commands/host/status.ts')).hostStatusCommand,
  },
  {
    name: 'host stop',
    summary: 'Stop the background host; keep sandboxes running',
    load: async () => (await import('./commands/host/stop.ts')).hostStopCommand,
  },
  {
    name: 'backup create',
    summary: 'Back everything up to one file, while the host runs',
    load: async () => (await import('./commands/backup/create.ts')).backupCreateCommand,
  },
  {
    name: 'backup ls',
    summary: 'List backups, newest first',
    load: async () => (await import('./commands/backup/ls.ts')).backupLsCommand,
  },
  {
    name: 'backup verify',
    summary: 'Restore a backup into a scratch folder and try it there',
    load: async () => (await import('./commands/backup/verify.ts')).backupVerifyCommand,
  },
  {
    name: 'backup restore',
    summary: 'Put a backup in place of the state',
    load: async () => (await import('./commands/backup/restore.ts')).backupRestoreCommand,
  },
  {
    name: 'upgrade',
    summary: 'Try another version of Geode on a copy, then switch',
    load: async () => (await import('./commands/upgrade.ts')).upgradeCommand,
  },
  {
    name: 'rollback',
    summary: 'Go back to the version before the last upgrade',
    load: async () => (await import('./commands/rollback.ts')).rollbackCommand,
  },
  {
    name: 'keys create',
    summary: 'Create an API key; it is shown once',
    load: async () => (await import('./commands/keys/create.ts')).keysCreateCommand,
  },
  {
    name: 'keys ls',
    summary: 'List API keys',
    load: async () => (await import('./commands/keys/ls.ts')).keysLsCommand,
  },
  {
    name: 'keys revoke',
    summary: 'Revoke an API key',
    load: async () => (await import('./commands/keys/revoke.ts')).keysRevokeCommand,
  },
  {
    name: 'status',
    summary: 'Show runtimes, host, budget, approvals and sandboxes',
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  {
    name: 'doctor',
    summary: 'Check this machine and show how to fix problems',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  {
    name: 'config',
    summary: 'Show every setting, its value and its source',
    load: async () => (await import('./commands/config/config.ts')).configCommand,
  },
  {
    name: 'config path',
    summary: 'Show where the config file is',
    load: async () => (await import('./commands/config/path.ts')).configPathCommand,
  },
  {
    name: 'config get',
    summary: 'Show the value of a setting',
    load: async () => (await import('./commands/config/get.ts')).configGetCommand,
  },
  {
    name: 'config set',
    summary: 'Change a setting in the config file',
    load: async () => (await import('./commands/config/set.ts')).configSetCommand,
  },
  {
    name: 'config unset',
    summary: 'Set a setting back to its default',
    load: async () => (await import('./commands/config/unset.ts')).configUnsetCommand,
  },
  {
    name: 'config edit',
    summary: 'Edit the config file, and check it before it is used',
    load: async () => (await import('./commands/config/edit.ts')).configEditCommand,
  },
  {
    name: 'config check',
    summary: 'Check the config file and the environment',
    load: async () => (await import('./commands/config/check.ts')).configCheckCommand,
  },
  {
    name: 'uninstall',
    summary: 'Stop everything of Geode, and delete its data if you want',
    load: async () => (await import('./commands/uninstall.ts')).uninstallCommand,
  },
  {
    name: 'completion',
    summary: 'Print shell completion for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
];
