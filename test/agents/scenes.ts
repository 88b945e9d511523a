/** The drivers as the contract suite tests them, on a runtime. */

import type { DriverScene } from '../contracts/agent-driver.ts';
import type { EngineFacts } from '../engine/index.ts';
import { type AgentProgram, claudeAcpCommand } from '../fixtures/agent-programs.ts';
import { onWall, type Wall } from '../fixtures/walls.ts';

/** A scene is skipped where its runtime or its program is not there. */
function placed(engines: EngineFacts, wall: Wall, program: AgentProgram | undefined) {
  const settings = onWall(engines, wall);
  const folder = program?.available ? program.folder : '';
  const unavailable =
    typeof settings === 'string' ? settings : program?.available === false ? program.reason : undefined;
  return {
    unavailable,
    folder,
    settings: {
      ...(typeof settings === 'string' ? {} : settings),
      GEODE_SECURITY_MOUNT_ROOTS: JSON.stringify(folder === '' ? [] : [folder]),
      GEODE_AGENTS_ALLOW: JSON.stringify(['reads', 'edits', 'tests']),
    },
  };
}

const claudeTools = {
  write: (path: string, content: string) => ({
    tool: 'Write',
    input: { file_path: `/workspace/${path}`, content },
  }),
  run: (command: string) => ({ tool: 'Bash', input: { command, description: 'a command' } }),
  remember: (content: string) => ({
    tool: 'mcp__geode__memory_store',
    input: { content, category: 'project' },
  }),
};

export function claudeScene(
  engines: EngineFacts,
  wall: Wall,
  program: AgentProgram,
  more: Readonly<Record<string, string>> = {},
): DriverScene {
  const { unavailable, folder, settings } = placed(engines, wall, program);
  return {
    name: `Claude Code on ${wall}`,
    proves: 'AGT-1, AGT-2, AGT-3, AGT-4',
    driver: 'claude',
    secret: 'anthropic',
    unavailable,
    settings: ({ url }) => ({
      ...settings,
      GEODE_CLAUDE_FOLDER: folder,
      GEODE_CLAUDE_UPSTREAM: url,
      GEODE_CLAUDE_MODEL: 'claude-sonnet-5-5',
      GEODE_CLAUDE_PERMISSIONS: 'ask',
      ...more,
    }),
    ...claudeTools,
  };
}

export function codexScene(engines: EngineFacts, wall: Wall, program: AgentProgram): DriverScene {
  const { unavailable, folder, settings } = placed(engines, wall, program);
  return {
    name: `Codex on ${wall}`,
    proves: 'AGT-2, AGT-3, AGT-4, AGT-5',
    driver: 'codex',
    secret: 'openai',
    unavailable,
    asksNobody: 'the sandbox is its boundary',
    settings: ({ url }) => ({
      ...settings,
      GEODE_CODEX_FOLDER: folder,
      GEODE_CODEX_UPSTREAM: `${url}/v1`,
    }),
    write: (path, content) => ({
      tool: 'exec_command',
      input: { cmd: `cat > ${path} <<'END'\n${content}END` },
    }),
    run: (cmd) => ({ tool: 'exec_command', input: { cmd, yield_time_ms: 30_000 } }),
    remember: (content) => ({
      tool: 'memory_store',
      namespace: 'mcp__geode',
      input: { content, category: 'project' },
    }),
  };
}

export function acpScene(engines: EngineFacts, wall: Wall, program: AgentProgram): DriverScene {
  const { unavailable, folder, settings } = placed(engines, wall, program);
  return {
    name: `claude-agent-acp on ${wall}`,
    proves: 'AGT-2, AGT-3, AGT-4, AGT-5',
    driver: 'acp:claude',
    secret: 'anthropic',
    unavailable,
    settings: ({ url }) => ({ ...settings, ...acpSettings(folder, url) }),
    ...claudeTools,
  };
}

/** An ACP agent called `claude`. */
function acpSettings(folder: string, upstream: string): Readonly<Record<string, string>> {
  const env = {
    CLAUDE_CODE_EXECUTABLE: '/opt/geode/acp/claude',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    IS_SANDBOX: '1',
  };
  return {
    GEODE_ACP_AGENTS: JSON.stringify({ claude: { command: claudeAcpCommand, folder, upstream, env } }),
  };
}

/** opencode with the settings of docs/agents.md. */
export function opencodeScene(engines: EngineFacts, wall: Wall, program: AgentProgram): DriverScene {
  const { unavailable, folder, settings } = placed(engines, wall, program);
  const config = {
    model: 'anthropic/claude-sonnet-4-5',
    permission: { bash: 'ask' },
    provider: { anthropic: { options: { baseURL: '{env:ANTHROPIC_BASE_URL}/v1' } } },
  };
  const env = {
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
  };
  return {
    name: `opencode on ${wall}`,
    proves: 'AGT-2, AGT-3, AGT-4, AGT-5',
    driver: 'acp:opencode',
    // For plugins of its own, which it does without.
    asksInVain: 'registry.npmjs.org',
    secret: 'anthropic',
    unavailable,
    settings: ({ url }) => ({
      ...settings,
      // It takes 12 s to begin on a machine with nothing else to do.
      GEODE_ACP_BEGIN: '240',
      GEODE_ACP_AGENTS: JSON.stringify({
        opencode: { command: ['/opt/geode/acp/bin/opencode', 'acp'], folder, upstream: url, env },
      }),
    }),
    write: (path, content) => ({ tool: 'write', input: { filePath: `/workspace/${path}`, content } }),
    run: (command) => ({ tool: 'bash', input: { command, description: 'a command' } }),
    remember: (content) => ({ tool: 'geode_memory_store', input: { content, category: 'project' } }),
  };
}

export function builtinScene(
  engines: EngineFacts,
  wall: Wall,
  more: Readonly<Record<string, string>> = {},
): DriverScene {
  const { unavailable, settings } = placed(engines, wall, undefined);
  return {
    name: `the built-in agent on ${wall}`,
    proves: 'AGT-2, AGT-3',
    driver: 'builtin',
    unavailable,
    needsNoProgram: 'its model is asked by the host',
    settings: ({ url }) => ({
      ...settings,
      GEODE_PROVIDERS_SERVICES: JSON.stringify({
        scripted: { kind: 'anthropic', base_url: `${url}/v1`, api_key: 'the-key-of-the-provider' },
      }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
      GEODE_AGENTS_PERMISSIONS: 'edits',
      ...more,
    }),
    write: (path, content) => ({ tool: 'write_file', input: { path, content } }),
    run: (command) => ({ tool: 'shell', input: { command } }),
    remember: (content) => ({ tool: 'memory_store', input: { content } }),
  };
}
