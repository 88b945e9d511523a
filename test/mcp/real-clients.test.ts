/** The real Claude Code and the real Codex on this machine, with `geode mcp` in their configuration. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { geodeProgram, type SandboxHome, sandboxHome } from '../cli/sandbox-home.ts';
import { claudeCode, codex } from '../fixtures/agent-programs.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { type ModelServer, type Reply, startModelServer } from '../fixtures/model-server/model-server.ts';

const { bubblewrap } = inject('engines');
const programs = bubblewrap.available
  ? { claude: await claudeCode(), codex: await codex() }
  : { claude: bubblewrap, codex: bubblewrap };

describe('MCP-5: geode mcp with real clients', { timeout: 300_000 }, () => {
  let server: ModelServer;
  let home: SandboxHome;
  const steps: Record<string, readonly Reply[]> = {};

  beforeAll(async () => {
    server = await startModelServer(agentScript(steps));
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SANDBOX_READY: '0',
      GEODE_MEMORY_EMBEDDER: 'ollama',
      GEODE_MEMORY_MODEL: 'none',
      GEODE_MEMORY_DIMENSIONS: '8',
      GEODE_MEMORY_BASE_URL: 'http://127.0.0.1:9',
    });
  }, 120_000);
  afterAll(async () => {
    await home?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  }, 300_000);

  /** A model that makes a sandbox, runs something in it and remembers what came of it. */
  const script = (chat: string): readonly Reply[] => [
    { text: 'I make a sandbox.', calls: [{ tool: 'mcp__geode__sandbox_create', input: { chat } }] },
    {
      text: 'I run it.',
      calls: [{ tool: 'mcp__geode__exec', input: { chat, command: 'echo $((6 * 7)) > answer; cat answer' } }],
    },
    {
      text: 'I remember it.',
      calls: [{ tool: 'mcp__geode__memory_store', input: { content: `${chat} says 42.` } }],
    },
    { text: 'It is 42.' },
  ];

  it.skipIf(!programs.claude.available)(
    `Claude Code uses the tools and answers${why(programs.claude)}`,
    async () => {
      steps['the answer, please, Claude'] = script('of-claude');
      const servers = { geode: { ...geode(), env: { ...home.env }, alwaysLoad: true } };
      const lines = await run(
        join(folderOf(programs.claude), 'claude'),
        [
          ...['-p', 'the answer, please, Claude', '--output-format', 'stream-json', '--verbose'],
          ...['--mcp-config', JSON.stringify({ mcpServers: servers }), '--strict-mcp-config'],
          ...['--setting-sources', '', '--allowedTools', 'mcp__geode'],
        ],
        {
          ANTHROPIC_BASE_URL: server.url,
          ANTHROPIC_API_KEY: 'placeholder',
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
          DISABLE_AUTOUPDATER: '1',
        },
      );
      expect(lines.at(-1)).toMatchObject({ type: 'result', is_error: false, result: 'It is 42.' });
      const [init] = lines.filter(({ type, subtype }) => type === 'system' && subtype === 'init');
      expect(init?.mcp_servers).toEqual([expect.objectContaining({ name: 'geode', status: 'connected' })]);
      await madeBy('of-claude');
    },
  );

  it.skipIf(!programs.codex.available)(`Codex${why(programs.codex)}`, async () => {
    steps['the answer, please, Codex'] = script('of-codex');
    const { command, args } = geode();
    const settings: Readonly<Record<string, unknown>> = {
      model: 'gpt-5',
      model_provider: 'scripted',
      'model_providers.scripted.name': 'scripted',
      'model_providers.scripted.base_url': `${server.url}/v1`,
      'model_providers.scripted.wire_api': 'responses',
      'model_providers.scripted.env_key': 'SCRIPTED_KEY',
      'analytics.enabled': false,
      'features.plugins': false,
      'features.apps': false,
      'mcp_servers.geode.command': command,
      'mcp_servers.geode.args': args,
      // Codex otherwise asks the model before it knows the tools of a server that is still starting.
      'mcp_servers.geode.required': true,
      // Codex hands on a few variables and those that are named.
      'mcp_servers.geode.env_vars': Object.keys(home.env).filter((name) => name.startsWith('GEODE_')),
    };
    const given = Object.entries(settings).flatMap(([name, value]) => [
      '-c',
      `${name}=${JSON.stringify(value)}`,
    ]);
    const lines = await run(
      join(folderOf(programs.codex), 'bin/codex'),
      [
        ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
        ...[...given, 'the answer, please, Codex'],
      ],
      { SCRIPTED_KEY: 'placeholder', CODEX_HOME: home.folder },
    );
    const items = lines.filter(({ type }) => type === 'item.completed').map(({ item }) => item);
    expect(items, JSON.stringify(lines)).toContainEqual(
      expect.objectContaining({ type: 'agent_message', text: 'It is 42.' }),
    );
    expect(items.filter((item) => isToolCall(item))).toHaveLength(3);
    await madeBy('of-codex');
  });

  function geode() {
    return { command: process.execPath, args: [geodeProgram, 'mcp'] };
  }

  /** Everybody sees the effect of the tools. */
  async function madeBy(chat: string): Promise<void> {
    expect(await home.ok(['sandbox', 'exec', chat, '--', 'cat', 'answer'])).toBe('42\n');
    expect(await home.ok(['memory', 'search', `${chat} says`])).toContain(`${chat} says 42.`);
  }

  async function run(program: string, args: readonly string[], more: Readonly<Record<string, string>>) {
    const child = spawn(program, args, {
      env: { ...home.env, ...more },
      cwd: home.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 240_000,
      killSignal: 'SIGKILL',
    });
    const closed = once(child, 'close');
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    await closed;
    expect(child.exitCode, `${stdout.slice(-3000)}\n${stderr.slice(-3000)}`).toBe(0);
    return stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line): Readonly<Record<string, unknown>> => JSON.parse(line));
  }
});

function isToolCall(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'type' in item && item.type === 'mcp_tool_call';
}

function folderOf(program: Awaited<ReturnType<typeof codex>>): string {
  return program.available ? program.folder : '';
}

function why(program: Awaited<ReturnType<typeof codex>>): string {
  return program.available ? '' : ` (skipped: ${program.reason})`;
}
