/** Every command, in the order of `geode --help`. Made of the files in `commands` by `npm run docs`. */
import type { CommandEntry } from './command.ts';

export const commands: readonly CommandEntry[] = [
  {
    name: 'onboard',
    summary: 'set up provider, runtime, channels and budget; asks, tries each answer, and writes the config',
    load: async () => (await import('./commands/onboard.ts')).onboardCommand,
  },
  {
    name: 'run',
    summary: 'run code in a fresh sandbox and leave nothing behind',
    load: async () => (await import('./commands/run.ts')).runCommand,
  },
  {
    name: 'repl',
    summary: 'talk with an interpreter in a fresh sandbox, line by line',
    load: async () => (await import('./commands/repl.ts')).replCommand,
  },
  {
    name: 'runs ls',
    summary: 'list the runs that are over, newest first',
    load: async () => (await import('./commands/runs/ls.ts')).runsLsCommand,
  },
  {
    name: 'runs show',
    summary: 'show a run that is over: its code, the beginning of its output, how it ended',
    load: async () => (await import('./commands/runs/show.ts')).runsShowCommand,
  },
  {
    name: 'exec',
    summary: 'run a command in a fresh sandbox',
    load: async () => (await import('./commands/exec.ts')).execCommand,
  },
  {
    name: 'shell',
    summary: 'a terminal in a sandbox that stays: leave it, come back, and find it as it was',
    load: async () => (await import('./commands/shell.ts')).shellCommand,
  },
  {
    name: 'sandbox create',
    summary: 'make a sandbox that stays, one for each user and chat',
    load: async () => (await import('./commands/sandbox/create.ts')).sandboxCreateCommand,
  },
  {
    name: 'sandbox ls',
    summary: 'list the sandboxes that stay, with their states and isolation grades',
    load: async () => (await import('./commands/sandbox/ls.ts')).sandboxLsCommand,
  },
  {
    name: 'sandbox start',
    summary: 'start sandboxes that were stopped, with their files',
    load: async () => (await import('./commands/sandbox/start.ts')).sandboxStartCommand,
  },
  {
    name: 'sandbox stop',
    summary: 'end what runs in sandboxes and keep their files',
    load: async () => (await import('./commands/sandbox/stop.ts')).sandboxStopCommand,
  },
  {
    name: 'sandbox rm',
    summary: 'remove sandboxes for good, with their files and journals',
    load: async () => (await import('./commands/sandbox/rm.ts')).sandboxRmCommand,
  },
  {
    name: 'sandbox exec',
    summary: 'run a command in a sandbox that stays',
    load: async () => (await import('./commands/sandbox/exec.ts')).sandboxExecCommand,
  },
  {
    name: 'sandbox cp',
    summary: 'copy a file or a folder into a sandbox, or out of it',
    load: async () => (await import('./commands/sandbox/cp.ts')).sandboxCpCommand,
  },
  {
    name: 'sandbox logs',
    summary: 'read what the processes of a sandbox wrote, running or ended',
    load: async () => (await import('./commands/sandbox/logs.ts')).sandboxLogsCommand,
  },
  {
    name: 'sandbox ps',
    summary: 'list what runs in a sandbox, with every child, and those that were disowned',
    load: async () => (await import('./commands/sandbox/ps.ts')).sandboxPsCommand,
  },
  {
    name: 'sandbox stats',
    summary: 'show what sandboxes use of CPU, memory, processes and disk',
    load: async () => (await import('./commands/sandbox/stats.ts')).sandboxStatsCommand,
  },
  {
    name: 'sandbox pause',
    summary: 'stop the time of everything in sandboxes, where the runtime can',
    load: async () => (await import('./commands/sandbox/pause.ts')).sandboxPauseCommand,
  },
  {
    name: 'sandbox resume',
    summary: 'let paused sandboxes go on where they were',
    load: async () => (await import('./commands/sandbox/resume.ts')).sandboxResumeCommand,
  },
  {
    name: 'sandbox snapshot',
    summary: 'keep the files of a sandbox as they are now, or list what is kept',
    load: async () => (await import('./commands/sandbox/snapshot.ts')).sandboxSnapshotCommand,
  },
  {
    name: 'sandbox restore',
    summary: 'make the files of a sandbox what they were in a snapshot',
    load: async () => (await import('./commands/sandbox/restore.ts')).sandboxRestoreCommand,
  },
  {
    name: 'sandbox diff',
    summary: 'show what changed in the files of a sandbox since a snapshot',
    load: async () => (await import('./commands/sandbox/diff.ts')).sandboxDiffCommand,
  },
  {
    name: 'sandbox undo',
    summary: 'take back what the last undoable command did to the files',
    load: async () => (await import('./commands/sandbox/undo.ts')).sandboxUndoCommand,
  },
  {
    name: 'sandbox fork',
    summary: 'make another sandbox of the same user with a copy of the files',
    load: async () => (await import('./commands/sandbox/fork.ts')).sandboxForkCommand,
  },
  {
    name: 'sandbox open',
    summary: 'show a server in a sandbox on this machine, under a URL with a token',
    load: async () => (await import('./commands/sandbox/open.ts')).sandboxOpenCommand,
  },
  {
    name: 'sandbox extend',
    summary: 'keep an idle sandbox from being stopped for some time from now',
    load: async () => (await import('./commands/sandbox/extend.ts')).sandboxExtendCommand,
  },
  {
    name: 'sandbox rename',
    summary: 'give a sandbox to another chat of the same user',
    load: async () => (await import('./commands/sandbox/rename.ts')).sandboxRenameCommand,
  },
  {
    name: 'agent-stdin',
    summary: 'answer one request on stdin with the built-in agent, in the place where this runs',
    load: async () => (await import('./commands/agent-stdin.ts')).agentStdinCommand,
  },
  {
    name: 'agent',
    summary: 'send a message to an agent that lives in a sandbox',
    load: async () => (await import('./commands/agent/agent.ts')).agentCommand,
  },
  {
    name: 'agent ls',
    summary: 'list the conversations with agents, the latest active first',
    load: async () => (await import('./commands/agent/ls.ts')).agentLsCommand,
  },
  {
    name: 'agent log',
    summary: 'show what an agent did and said',
    load: async () => (await import('./commands/agent/log.ts')).agentLogCommand,
  },
  {
    name: 'agent interrupt',
    summary: 'end what an agent is doing; the conversation stays',
    load: async () => (await import('./commands/agent/interrupt.ts')).agentInterruptCommand,
  },
  {
    name: 'agent stop',
    summary: 'end a conversation and forget it; the sandbox and its files stay',
    load: async () => (await import('./commands/agent/stop.ts')).agentStopCommand,
  },
  {
    name: 'claude',
    summary: 'Claude Code in a sandbox that has no network and no key: at your terminal, or for one prompt',
    load: async () => (await import('./commands/claude.ts')).claudeCommand,
  },
  {
    name: 'chat',
    summary: 'talk to the agent of a chat, which works in its own sandbox',
    load: async () => (await import('./commands/chat/chat.ts')).chatCommand,
  },
  {
    name: 'chat ls',
    summary: 'list the chats on every channel, the latest active first',
    load: async () => (await import('./commands/chat/ls.ts')).chatLsCommand,
  },
  {
    name: 'chat export',
    summary: 'write all that is kept of a chat as lines of JSON',
    load: async () => (await import('./commands/chat/export.ts')).chatExportCommand,
  },
  {
    name: 'chat pair',
    summary: 'let somebody who got a code on a channel in; without a code, show who waits',
    load: async () => (await import('./commands/chat/pair.ts')).chatPairCommand,
  },
  {
    name: 'chat unpair',
    summary: 'let somebody on a channel in no more; without arguments, show who is let in',
    load: async () => (await import('./commands/chat/unpair.ts')).chatUnpairCommand,
  },
  {
    name: 'chat audit',
    summary: 'show who let whom in and who scheduled what, newest first',
    load: async () => (await import('./commands/chat/audit.ts')).chatAuditCommand,
  },
  {
    name: 'schedule ls',
    summary: 'list what is said in chats at set times, the next one first',
    load: async () => (await import('./commands/schedule/ls.ts')).scheduleLsCommand,
  },
  {
    name: 'schedule add',
    summary: 'have something said to the agent of a chat at set times',
    load: async () => (await import('./commands/schedule/add.ts')).scheduleAddCommand,
  },
  {
    name: 'schedule rm',
    summary: 'end a schedule',
    load: async () => (await import('./commands/schedule/rm.ts')).scheduleRmCommand,
  },
  {
    name: 'solve',
    summary: 'solve a problem: a model writes code, a sandbox runs it, failures are learned from',
    load: async () => (await import('./commands/solve/solve.ts')).solveCommand,
  },
  {
    name: 'solve ls',
    summary: 'list the problems that were solved or tried, newest first',
    load: async () => (await import('./commands/solve/ls.ts')).solveLsCommand,
  },
  {
    name: 'solve show',
    summary: 'show the attempts of a solve: code, output, verdict, reflection, cost',
    load: async () => (await import('./commands/solve/show.ts')).solveShowCommand,
  },
  {
    name: 'solve resume',
    summary: 'go on with a solve that was interrupted; nothing is paid for twice',
    load: async () => (await import('./commands/solve/resume.ts')).solveResumeCommand,
  },
  {
    name: 'crystals ls',
    summary: 'list what was kept of solved problems, newest first',
    load: async () => (await import('./commands/crystals/ls.ts')).crystalsLsCommand,
  },
  {
    name: 'crystals show',
    summary: 'show a crystal: problem, errors met, solution, trust',
    load: async () => (await import('./commands/crystals/show.ts')).crystalsShowCommand,
  },
  {
    name: 'crystals pin',
    summary: 'vouch for a crystal: it is neither replaced nor left out',
    load: async () => (await import('./commands/crystals/pin.ts')).crystalsPinCommand,
  },
  {
    name: 'crystals edit',
    summary: 'correct a crystal: its problem, its solution, or what it is checked with',
    load: async () => (await import('./commands/crystals/edit.ts')).crystalsEditCommand,
  },
  {
    name: 'crystals verify',
    summary: 'run crystals again on what they were checked with; their trust follows',
    load: async () => (await import('./commands/crystals/verify.ts')).crystalsVerifyCommand,
  },
  {
    name: 'crystals rm',
    summary: 'remove crystals',
    load: async () => (await import('./commands/crystals/rm.ts')).crystalsRmCommand,
  },
  {
    name: 'egress ls',
    summary: 'show what a sandbox may reach, or new ones that name nothing',
    load: async () => (await import('./commands/egress/ls.ts')).egressLsCommand,
  },
  {
    name: 'egress default',
    summary: 'show or say what your new sandboxes and runs may reach that name nothing',
    load: async () => (await import('./commands/egress/default.ts')).egressDefaultCommand,
  },
  {
    name: 'egress allow',
    summary: 'let a sandbox reach a host, at once',
    load: async () => (await import('./commands/egress/allow.ts')).egressAllowCommand,
  },
  {
    name: 'egress deny',
    summary: 'keep a sandbox from a host, at once; deny always wins',
    load: async () => (await import('./commands/egress/deny.ts')).egressDenyCommand,
  },
  {
    name: 'egress ask',
    summary: 'hold what no rule decides until you have answered',
    load: async () => (await import('./commands/egress/ask.ts')).egressAskCommand,
  },
  {
    name: 'egress learn',
    summary: 'write down what a sandbox reaches, and make it a policy',
    load: async () => (await import('./commands/egress/learn.ts')).egressLearnCommand,
  },
  {
    name: 'egress log',
    summary: 'show what crossed and what was refused, newest first',
    load: async () => (await import('./commands/egress/log.ts')).egressLogCommand,
  },
  {
    name: 'egress usage',
    summary: 'show what models were used through bindings, with tokens and cost',
    load: async () => (await import('./commands/egress/usage.ts')).egressUsageCommand,
  },
  {
    name: 'approvals ls',
    summary: 'list what waits for your decision',
    load: async () => (await import('./commands/approvals/ls.ts')).approvalsLsCommand,
  },
  {
    name: 'approvals allow',
    summary: 'allow what waits for your decision',
    load: async () => (await import('./commands/approvals/allow.ts')).approvalsAllowCommand,
  },
  {
    name: 'approvals deny',
    summary: 'deny what waits for your decision',
    load: async () => (await import('./commands/approvals/deny.ts')).approvalsDenyCommand,
  },
  {
    name: 'approvals watch',
    summary: 'show what waits for your decision as it comes, until Ctrl-C',
    load: async () => (await import('./commands/approvals/watch.ts')).approvalsWatchCommand,
  },
  {
    name: 'secrets set',
    summary: 'store a credential for a binding; it never enters a sandbox and is never shown again',
    load: async () => (await import('./commands/secrets/set.ts')).secretsSetCommand,
  },
  {
    name: 'secrets ls',
    summary: 'list the names of your secrets, never their values',
    load: async () => (await import('./commands/secrets/ls.ts')).secretsLsCommand,
  },
  {
    name: 'secrets rm',
    summary: 'remove a secret; bindings that need it refuse from then on',
    load: async () => (await import('./commands/secrets/rm.ts')).secretsRmCommand,
  },
  {
    name: 'secrets rotate',
    summary: 'seal all secrets with a new key',
    load: async () => (await import('./commands/secrets/rotate.ts')).secretsRotateCommand,
  },
  {
    name: 'mcp',
    summary: 'offer sandboxes, code and memory to an agent as MCP tools, over stdio',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
  {
    name: 'image build',
    summary: "build one of Geode's images with Docker or Podman, and those below it",
    load: async () => (await import('./commands/image/build.ts')).imageBuildCommand,
  },
  {
    name: 'image ls',
    summary: "list Geode's images that were built here, with their digests",
    load: async () => (await import('./commands/image/ls.ts')).imageLsCommand,
  },
  {
    name: 'image rm',
    summary: "remove one of Geode's images that was built here",
    load: async () => (await import('./commands/image/rm.ts')).imageRmCommand,
  },
  {
    name: 'tools open',
    summary: "let programs in a sandbox use the host's tools, over MCP",
    load: async () => (await import('./commands/tools/open.ts')).toolsOpenCommand,
  },
  {
    name: 'tools ls',
    summary: "list the sandboxes whose programs may use the host's tools",
    load: async () => (await import('./commands/tools/ls.ts')).toolsLsCommand,
  },
  {
    name: 'tools close',
    summary: "take the host's tools away from the programs in a sandbox",
    load: async () => (await import('./commands/tools/close.ts')).toolsCloseCommand,
  },
  {
    name: 'tools servers',
    summary: 'list the MCP servers of the config, their state and what they offer',
    load: async () => (await import('./commands/tools/servers.ts')).toolsServersCommand,
  },
  {
    name: 'tools log',
    summary: "show which of the host's tools programs in sandboxes called, newest first",
    load: async () => (await import('./commands/tools/log.ts')).toolsLogCommand,
  },
  {
    name: 'memory add',
    summary: 'store an entry',
    load: async () => (await import('./commands/memory/add.ts')).memoryAddCommand,
  },
  {
    name: 'memory export',
    summary: 'write entries with their history as lines of JSON',
    load: async () => (await import('./commands/memory/export.ts')).memoryExportCommand,
  },
  {
    name: 'memory get',
    summary: 'read an entry',
    load: async () => (await import('./commands/memory/get.ts')).memoryGetCommand,
  },
  {
    name: 'memory import',
    summary: 'store files and folders, or the lines of an export',
    load: async () => (await import('./commands/memory/import.ts')).memoryImportCommand,
  },
  {
    name: 'memory ls',
    summary: 'list entries, newest first',
    load: async () => (await import('./commands/memory/ls.ts')).memoryLsCommand,
  },
  {
    name: 'memory reindex',
    summary: 'embed and index everything again',
    load: async () => (await import('./commands/memory/reindex.ts')).memoryReindexCommand,
  },
  {
    name: 'memory rm',
    summary: 'forget entries and their versions',
    load: async () => (await import('./commands/memory/rm.ts')).memoryRmCommand,
  },
  {
    name: 'memory search',
    summary: 'search memory by meaning and by word',
    load: async () => (await import('./commands/memory/search.ts')).memorySearchCommand,
  },
  {
    name: 'memory stats',
    summary: 'count entries, and say how memory is doing',
    load: async () => (await import('./commands/memory/stats.ts')).memoryStatsCommand,
  },
  {
    name: 'gateway',
    summary: 'be the host and serve the HTTP API on a port until it is told to stop',
    load: async () => (await import('./commands/gateway.ts')).gatewayCommand,
  },
  {
    name: 'dashboard',
    summary: 'print a link that opens the dashboard once; be the gateway where none runs',
    load: async () => (await import('./commands/dashboard.ts')).dashboardCommand,
  },
  {
    name: 'host',
    summary: 'hold the sandboxes that stay, stop those that are idle, and serve the commands of others',
    load: async () => (await import('./commands/host/host.ts')).hostCommand,
  },
  {
    name: 'host stop',
    summary: 'end the host of the sandboxes that a command started; what runs in them goes on',
    load: async () => (await import('./commands/host/stop.ts')).hostStopCommand,
  },
  {
    name: 'keys create',
    summary: 'make an API key; it is shown once',
    load: async () => (await import('./commands/keys/create.ts')).keysCreateCommand,
  },
  {
    name: 'keys list',
    summary: 'list the API keys',
    load: async () => (await import('./commands/keys/list.ts')).keysListCommand,
  },
  {
    name: 'keys revoke',
    summary: 'revoke an API key; a running server refuses it at once',
    load: async () => (await import('./commands/keys/revoke.ts')).keysRevokeCommand,
  },
  {
    name: 'status',
    summary: 'show runtimes, limits, host, providers, budget, channels, approvals and sandboxes',
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  {
    name: 'doctor',
    summary:
      'check this machine and say how to fix what is missing; with --attack, try to break out of sandboxes',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  {
    name: 'config',
    summary: 'show every setting, its value and where it came from',
    load: async () => (await import('./commands/config.ts')).configCommand,
  },
  {
    name: 'completion',
    summary: 'print what makes a shell complete the commands, options and sandboxes of geode',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
];
