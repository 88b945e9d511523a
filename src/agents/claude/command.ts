import type { UnaskedPermission } from '../../seams/agent.ts';
import type { Command, TerminalSize } from '../../seams/process.ts';
import type { ServedToolSession } from '../../seams/tools.ts';

const modes: Readonly<Record<UnaskedPermission, string>> = {
  ask: 'manual',
  edits: 'acceptEdits',
  all: 'bypassPermissions',
};

export interface ClaudeCommand {
  readonly program: string;
  readonly workdir: string;
  readonly session: string;
  /** The session already exists on disk. */
  readonly isBegun: boolean;
  readonly model: string | null;
  readonly permissions: UnaskedPermission;
  /** Permission rules of the program, such as `Bash(npm test *)`. */
  readonly allow: readonly string[];
  readonly tools: ServedToolSession['server'] | undefined;
  /** The operator's plugin folder with skills; null: none. */
  readonly plugin: string | null;
}

/** Where it stores its sessions: in the workspace, so they survive the sandbox's processes. */
export const claudeFolder = '.geode/claude';

/** One process for many turns, which it reads from stdin. */
export function commandForClaude(options: ClaudeCommand): Command {
  const { program, argv, ...rest } = sharedBy(options);
  return {
    argv: [
      program,
      ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
      ...['--include-partial-messages', '--permission-prompt-tool', 'stdio'],
      ...argv,
    ],
    ...rest,
    interactive: true,
  };
}

/** The program's own screen for a person at a terminal. It asks this person for permission. */
export function claudeTerminal(options: ClaudeCommand, pty: TerminalSize): Command {
  const { program, argv, env, ...rest } = sharedBy(options);
  // The operator has decided this, so the person is not asked again.
  const settings = JSON.stringify({ skipDangerousModePermissionPrompt: true });
  return {
    argv: [program, '--settings', settings, ...argv],
    // Works in every terminal that may attach later.
    env: { ...env, TERM: 'xterm-256color' },
    ...rest,
    pty,
  };
}

/**
 * Settings and tools of the host are arguments, which nothing inside can change. Settings files that the agent could
 * write are not read. Nothing passes through a shell.
 */
function sharedBy(options: ClaudeCommand) {
  const { program, workdir, session, isBegun, model, permissions, allow, tools, plugin } = options;
  const servers = tools === undefined ? {} : { geode: { ...tools, type: 'stdio', alwaysLoad: true } };
  // The host itself decides which of its tools a session may use.
  const allowed = [...(tools === undefined ? [] : ['mcp__geode']), ...allow];
  return {
    program,
    argv: [
      ...['--setting-sources', ''],
      ...['--mcp-config', JSON.stringify({ mcpServers: servers }), '--strict-mcp-config'],
      ...['--permission-mode', modes[permissions]],
      ...(allowed.length === 0 ? [] : ['--allowedTools', allowed.join(',')]),
      ...(plugin === null ? [] : ['--plugin-dir', plugin]),
      ...(model === null ? [] : ['--model', model]),
      ...(isBegun ? ['--resume', session] : ['--session-id', session]),
    ],
    cwd: workdir,
    env: {
      CLAUDE_CONFIG_DIR: `${workdir}/${claudeFolder}`,
      XDG_CACHE_HOME: `${workdir}/.geode/cache`,
      // Switches off all traffic except the model's; other attempts are refused and shown.
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // The sandbox is the boundary. Without this setting the program refuses to run as root.
      IS_SANDBOX: '1',
    },
    timeoutMs: null,
  };
}
