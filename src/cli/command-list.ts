/** Every command, in the order of `geode --help`. */
import type { CliCommand } from './command.ts';
import { agentCommand } from './commands/agent.ts';
import { agentInterruptCommand } from './commands/agent-interrupt.ts';
import { agentLogCommand } from './commands/agent-log.ts';
import { agentLsCommand } from './commands/agent-ls.ts';
import { agentStopCommand } from './commands/agent-stop.ts';
import { approvalsAllowCommand } from './commands/approvals-allow.ts';
import { approvalsDenyCommand } from './commands/approvals-deny.ts';
import { approvalsLsCommand } from './commands/approvals-ls.ts';
import { approvalsWatchCommand } from './commands/approvals-watch.ts';
import { chatCommand } from './commands/chat.ts';
import { chatLsCommand } from './commands/chat-ls.ts';
import { chatPairCommand } from './commands/chat-pair.ts';
import { chatUnpairCommand } from './commands/chat-unpair.ts';
import { configCommand } from './commands/config.ts';
import { crystalsEditCommand } from './commands/crystals-edit.ts';
import { crystalsLsCommand } from './commands/crystals-ls.ts';
import { crystalsPinCommand } from './commands/crystals-pin.ts';
import { crystalsRmCommand } from './commands/crystals-rm.ts';
import { crystalsShowCommand } from './commands/crystals-show.ts';
import { crystalsVerifyCommand } from './commands/crystals-verify.ts';
import { dashboardCommand } from './commands/dashboard.ts';
import { doctorCommand } from './commands/doctor.ts';
import { egressAllowCommand } from './commands/egress-allow.ts';
import { egressAskCommand } from './commands/egress-ask.ts';
import { egressDenyCommand } from './commands/egress-deny.ts';
import { egressLearnCommand } from './commands/egress-learn.ts';
import { egressLogCommand } from './commands/egress-log.ts';
import { egressLsCommand } from './commands/egress-ls.ts';
import { egressUsageCommand } from './commands/egress-usage.ts';
import { execCommand } from './commands/exec.ts';
import { gatewayCommand } from './commands/gateway.ts';
import { hostCommand } from './commands/host.ts';
import { hostStopCommand } from './commands/host-stop.ts';
import { keysCreateCommand } from './commands/keys-create.ts';
import { keysListCommand } from './commands/keys-list.ts';
import { keysRevokeCommand } from './commands/keys-revoke.ts';
import { mcpCommand } from './commands/mcp.ts';
import { memoryAddCommand } from './commands/memory-add.ts';
import { memoryExportCommand } from './commands/memory-export.ts';
import { memoryGetCommand } from './commands/memory-get.ts';
import { memoryImportCommand } from './commands/memory-import.ts';
import { memoryLsCommand } from './commands/memory-ls.ts';
import { memoryReindexCommand } from './commands/memory-reindex.ts';
import { memoryRmCommand } from './commands/memory-rm.ts';
import { memorySearchCommand } from './commands/memory-search.ts';
import { memoryStatsCommand } from './commands/memory-stats.ts';
import { replCommand } from './commands/repl.ts';
import { runCommand as runCodeCommand } from './commands/run.ts';
import { sandboxCpCommand } from './commands/sandbox-cp.ts';
import { sandboxCreateCommand } from './commands/sandbox-create.ts';
import { sandboxDiffCommand } from './commands/sandbox-diff.ts';
import { sandboxExecCommand } from './commands/sandbox-exec.ts';
import { sandboxExtendCommand } from './commands/sandbox-extend.ts';
import { sandboxForkCommand } from './commands/sandbox-fork.ts';
import { sandboxLogsCommand } from './commands/sandbox-logs.ts';
import { sandboxLsCommand } from './commands/sandbox-ls.ts';
import { sandboxOpenCommand } from './commands/sandbox-open.ts';
import { sandboxPauseCommand } from './commands/sandbox-pause.ts';
import { sandboxPsCommand } from './commands/sandbox-ps.ts';
import { sandboxRenameCommand } from './commands/sandbox-rename.ts';
import { sandboxRestoreCommand } from './commands/sandbox-restore.ts';
import { sandboxResumeCommand } from './commands/sandbox-resume.ts';
import { sandboxRmCommand } from './commands/sandbox-rm.ts';
import { sandboxSnapshotCommand } from './commands/sandbox-snapshot.ts';
import { sandboxStartCommand } from './commands/sandbox-start.ts';
import { sandboxStatsCommand } from './commands/sandbox-stats.ts';
import { sandboxStopCommand } from './commands/sandbox-stop.ts';
import { sandboxUndoCommand } from './commands/sandbox-undo.ts';
import { secretsLsCommand } from './commands/secrets-ls.ts';
import { secretsRmCommand } from './commands/secrets-rm.ts';
import { secretsRotateCommand } from './commands/secrets-rotate.ts';
import { secretsSetCommand } from './commands/secrets-set.ts';
import { shellCommand } from './commands/shell.ts';
import { solveCommand } from './commands/solve.ts';
import { solveLsCommand } from './commands/solve-ls.ts';
import { solveResumeCommand } from './commands/solve-resume.ts';
import { solveShowCommand } from './commands/solve-show.ts';
import { statusCommand } from './commands/status.ts';

export const commands: readonly CliCommand[] = [
  runCodeCommand,
  replCommand,
  execCommand,
  shellCommand,
  sandboxCreateCommand,
  sandboxLsCommand,
  sandboxStartCommand,
  sandboxStopCommand,
  sandboxRmCommand,
  sandboxExecCommand,
  sandboxCpCommand,
  sandboxLogsCommand,
  sandboxPsCommand,
  sandboxStatsCommand,
  sandboxPauseCommand,
  sandboxResumeCommand,
  sandboxSnapshotCommand,
  sandboxRestoreCommand,
  sandboxDiffCommand,
  sandboxUndoCommand,
  sandboxForkCommand,
  sandboxOpenCommand,
  sandboxExtendCommand,
  sandboxRenameCommand,
  agentCommand,
  agentLsCommand,
  agentLogCommand,
  agentInterruptCommand,
  agentStopCommand,
  solveCommand,
  solveLsCommand,
  solveShowCommand,
  solveResumeCommand,
  crystalsLsCommand,
  crystalsShowCommand,
  crystalsPinCommand,
  crystalsEditCommand,
  crystalsVerifyCommand,
  crystalsRmCommand,
  egressLsCommand,
  egressAllowCommand,
  egressDenyCommand,
  egressAskCommand,
  egressLearnCommand,
  egressLogCommand,
  egressUsageCommand,
  approvalsLsCommand,
  approvalsAllowCommand,
  approvalsDenyCommand,
  approvalsWatchCommand,
  secretsSetCommand,
  secretsLsCommand,
  secretsRmCommand,
  secretsRotateCommand,
  mcpCommand,
  memoryAddCommand,
  memoryExportCommand,
  memoryGetCommand,
  memoryImportCommand,
  memoryLsCommand,
  memoryReindexCommand,
  memoryRmCommand,
  memorySearchCommand,
  memoryStatsCommand,
  chatCommand,
  chatLsCommand,
  chatPairCommand,
  chatUnpairCommand,
  gatewayCommand,
  dashboardCommand,
  hostCommand,
  hostStopCommand,
  keysCreateCommand,
  keysListCommand,
  keysRevokeCommand,
  statusCommand,
  doctorCommand,
  configCommand,
];
