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
  /** The session is on disk already. */
  readonly isBegun: boolean;
  readonly model: string | null;
  readonly permissions: UnaskedPermission;
  /** Rules of the program, such as `Bash(npm test *)`. */
  readonly allow: readonly string[];
  readonly tools: ServedToolSession['server'] | undefined;
  /** A plugin's folder with skills that the operator gives; null: none. */
  readonly plugin: string | null;
}

/** Where it keeps its sessions: in the workspace, so that they outlive the sandbox's processes. */
export const claudeFolder = '.geode/claude';

/** One process for many turns, which it reads from stdin. */
export function claudeCommand(options: ClaudeCommand): Command {
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

/** The program's own screen for a person at a terminal, who is also the one whom it asks for permission. */
export function claudeTerminal(options: ClaudeCommand, pty: TerminalSize): Command {
  const { program, argv, env, ...rest } = sharedBy(options);
  // The operator has decided this, so do not ask the person again.
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
 * Settings and the tools of the host are arguments, which nothing inside can change; the settings files that the agent
 * could write are not read. Nothing passes through a shell.
 */
function sharedBy(options: ClaudeCommand) {
  const { program, workdir, session, isBegun, model, permissions, allow, tools, plugin } = options;
  const servers = tools === undefined ? {} : { geode: { ...tools, type: 'stdio', alwaysLoad: true } };
  // The host decides by itself what a session may use of its tools.
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
      // Everything besides the model is switched off; what it tries all the same is denied and shown.
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // The sandbox is the boundary: the program itself would refuse to work as root.
      IS_SANDBOX: '1',
    },
    timeoutMs: null,
  };
}
