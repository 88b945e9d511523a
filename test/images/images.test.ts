import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { version as own } from '../../src/cli/version.ts';
import type { BuiltImage } from '../../src/seams/images.ts';
import { type SandboxHome, sandboxHome } from '../cli/sandbox-home.ts';
import { eventually } from '../contracts/harness.ts';
import { imageTag } from '../engine/images.ts';
import { agentScript } from '../fixtures/model-server/agent-script.ts';
import { startModelServer } from '../fixtures/model-server/model-server.ts';
import { mirrorSettings } from './reach.ts';

const { docker } = inject('engines');
const skipped = docker.available ? '' : ` (skipped: ${docker.reason})`;
const base = imageTag('base');

/** The version output of each program in the images. */
const programs = {
  node: 'v24.21.0',
  npm: '11.21.1',
  python3: 'Python 3.',
  git: 'git version 2.',
  rg: 'ripgrep ',
  claude: '2.1.325',
  codex: 'codex-cli 0.166.0',
  rustc: 'rustc 1.',
  cargo: 'cargo 1.',
  cc: 'cc (Debian',
} as const;

describe.skipIf(!docker.available)(`images of Geode, built by Docker${skipped}`, () => {
  let home: SandboxHome;

  beforeAll(async () => {
    home = await sandboxHome({
      ...(await mirrorSettings()),
      GEODE_DOCKER_HOST: `unix://${docker.available ? docker.socket : ''}`,
      GEODE_RUNTIME_NAME: 'docker',
      GEODE_SANDBOX_READY: '0',
    });
  }, 300_000);
  afterAll(async () => {
    for (const name of ['full', 'agent', 'base']) await home?.run(['image', 'rm', name]);
    await home?.[Symbol.asyncDispose]();
  }, 300_000);

  it('AGT-6: builds base, agent and full from a given base without a container registry, and reports progress', {
    timeout: 900_000,
  }, async () => {
    const { code, stdout, stderr } = await home.run(['image', 'build', 'full', '--from', base]);
    expect(code, stderr).toBe(0);
    const [, version = ''] =
      /^localhost\/geode\/full:(\S+) {2}sha256:[0-9a-f]{64} {2}[\d.]+ GB\n$/.exec(stdout) ?? [];
    expect(version, stdout).toBe(own);
    for (const name of ['base', 'agent', 'full'])
      expect(stderr).toMatch(new RegExp(`^localhost/geode/${name}:${own} 1/\\d+ ARG BASE=`, 'm'));
    expect(stderr).not.toContain('pulling');
  });

  it('AGT-6: the ledger stores the digest and the base of each image', { timeout: 300_000 }, async () => {
    const { images } = await home.json<{ images: BuiltImage[] }>(['image', 'ls']);
    expect(images.map(({ name }) => name)).toEqual(['base', 'agent', 'full']);
    for (const { id, sizeBytes } of images) {
      expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(sizeBytes).toBeGreaterThan(5e7);
    }
    const [first, second, third] = images;
    expect([first?.from, second?.from, third?.from]).toEqual([base, first?.image, second?.image]);
    expect([second?.fromId, third?.fromId]).toEqual([first?.id, second?.id]);
    expect(await home.ok(['image', 'ls'])).toContain(`on ${base}\n`);
  });

  it('AGT-6: a sandbox of the image has Node, Python, git, Claude Code, Codex, Go and Rust, and no certificate of the builder', {
    timeout: 300_000,
  }, async () => {
    await home.ok(['sandbox', 'create', 'tools', '--image', `localhost/geode/full:${own}`]);
    for (const [program, words] of Object.entries(programs)) {
      const said = await home.ok(['sandbox', 'exec', 'tools', '--', program, '--version']);
      expect(said, program).toContain(words);
    }
    expect(await home.ok(['sandbox', 'exec', 'tools', '--', 'go', 'version'])).toContain('go version go1.');
    const acp = await home.ok(
      ['sandbox', 'exec', 'tools', '--', 'claude-agent-acp'],
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}\n',
    );
    expect(JSON.parse(acp.split('\n')[0] ?? '')).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
    expect(await home.ok(['sandbox', 'exec', 'tools', '--', 'ls', '-A', '/tmp'])).not.toContain('build');
    const used = await home.run(['image', 'rm', 'full', '--json']);
    expect(JSON.parse(used.stdout)).toMatchObject({ code: 'image_in_use' });
    await home.ok(['sandbox', 'rm', 'tools']);
  });

  it('AGT-6, CA-1: agents work in the built image: Claude Code, and the built-in agent of a chat', {
    timeout: 300_000,
  }, async () => {
    const write = { tool: 'Write', input: { file_path: '/workspace/note.txt', content: 'written inside' } };
    const look = {
      tool: 'shell',
      input: { command: 'which claude codex; cat /proc/*/cmdline | tr "\\0" " "' },
    };
    await using model = await startModelServer(
      agentScript({
        'write a note': [{ text: '', calls: [write] }, { text: 'The note is written.' }],
        'look around': [{ text: '', calls: [look] }, { text: 'I looked around.' }],
      }),
    );
    const service = { kind: 'anthropic', base_url: `${model.url}/v1`, api_key: 'the-key-of-the-operator' };
    await home.ok(['host', 'stop']);
    const settings = {
      GEODE_DOCKER_IMAGE: `localhost/geode/agent:${own}`,
      GEODE_CONTAINER_AGENT_IMAGE: `localhost/geode/agent:${own}`,
      GEODE_CLAUDE_UPSTREAM: model.url,
      GEODE_PROVIDERS_SERVICES: JSON.stringify({ scripted: service }),
      GEODE_PROVIDERS_DEFAULT: 'scripted/some-model',
    };
    const ask = async (args: readonly string[], stdin = '') => {
      const { code, stdout, stderr } = await home.run(args, stdin, settings);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    const gateway = home.startWith(settings, ['gateway', '--port', '0', '--no-auth', '--containerized']);
    const serving = async () => (await home.host().catch(() => undefined))?.serves?.as === 'geode gateway';
    await eventually(serving, 'the gateway', 120_000);
    await ask(['secrets', 'set', 'anthropic'], 'a-key-for-the-test\n');
    const turn = ['agent', '--driver', 'claude', '--chat', 'notes', '-m', 'write a note'];
    expect(await ask(turn)).toContain('The note is written.');
    expect(await ask(['sandbox', 'exec', 'notes', '--', 'cat', 'note.txt'])).toBe('written inside');
    expect(await ask(['chat', 'inside', '-m', 'look around'])).toContain('I looked around.');
    const seen = JSON.stringify(model.calls.at(-1)?.body);
    for (const words of ['/usr/local/bin/claude', '/usr/local/bin/codex', 'agent-stdin.mjs'])
      expect(seen).toContain(words);
    await ask(['sandbox', 'rm', 'notes', 'inside']);
    const ended = once(gateway, 'close');
    gateway.kill('SIGTERM');
    await ended;
  });

  it('AGT-6: a second build of the same base reuses the image, and removal removes the name', {
    timeout: 300_000,
  }, async () => {
    const before = await home.json<{ images: BuiltImage[] }>(['image', 'ls']);
    const again = await home.json<BuiltImage>(['image', 'build', 'agent', '--from', base]);
    expect(again.id).toBe(before.images.find(({ name }) => name === 'agent')?.id);
    expect(await home.ok(['image', 'rm', 'full'])).toBe('full removed\n');
    expect(await home.ok(['image', 'rm', 'full'])).toBe('full was not built here\n');
    const { images } = await home.json<{ images: BuiltImage[] }>(['image', 'ls']);
    expect(images.map(({ name }) => name)).toEqual(['base', 'agent']);
  });

  it('refuses an unknown image, a missing base and a base without a tag, with the reason', {
    timeout: 300_000,
  }, async () => {
    const unknown = await home.run(['image', 'build', 'huge']);
    expect(unknown).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Choose one of: base, agent, full'),
    });
    const nowhere = await home.run(['image', 'build', 'base', '--from', '127.0.0.1:9/nothing:1', '--json']);
    expect(nowhere.code).toBe(1);
    expect(JSON.parse(nowhere.stdout)).toMatchObject({
      code: 'pull_failed',
      hint: expect.stringContaining('geode image build --from IMAGE'),
    });
    const untagged = await home.run(['image', 'build', 'base', '--from', 'debian', '--json']);
    expect(JSON.parse(untagged.stdout)).toMatchObject({ code: 'invalid_input' });
  });

  it('reports that no engine runs', { timeout: 300_000 }, async () => {
    await using none = await sandboxHome({
      GEODE_DOCKER_HOST: 'unix:///nowhere/docker.sock',
      GEODE_RUNTIME_NAME: 'native',
      GEODE_SANDBOX_READY: '0',
    });
    const { code, stdout } = await none.run(['image', 'build', 'base', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      code: 'runtime_unavailable',
      error: expect.stringContaining('no engine listens at unix:///nowhere/docker.sock'),
    });
  });
});
