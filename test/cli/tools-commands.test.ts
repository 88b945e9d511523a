import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { geodeProgram, patience, type SandboxHome, sandboxHome } from './sandbox-home.ts';

const { bubblewrap } = inject('engines');
const skipped = bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`;
const document = fileURLToPath(new URL('../../docs/mcp.md', import.meta.url));

describe.skipIf(!bubblewrap.available)(`geode tools${skipped}`, patience, () => {
  let home: SandboxHome;
  beforeAll(async () => {
    home = await sandboxHome({
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_MEMORY_EMBEDDER: 'ollama',
      GEODE_MEMORY_MODEL: 'none',
      GEODE_MEMORY_DIMENSIONS: '8',
      GEODE_MEMORY_BASE_URL: 'http://127.0.0.1:9',
    });
  });
  afterAll(() => home[Symbol.asyncDispose](), 300_000);

  it('the example of docs/mcp.md runs unchanged', async () => {
    const words = await readFile(document, 'utf8');
    const example = /## In a sandbox[\s\S]*?```sh\n([\s\S]*?)```/.exec(words)?.[1] ?? '';
    expect(example.split('\n')).toHaveLength(6);
    const script = `set -e\ngeode() { "${process.execPath}" "${geodeProgram}" "$@"; }\n${example}`;
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script], {
      env: { ...home.env },
      cwd: home.folder,
    });
    expect(stdout).toContain('"mcpServers"');
    expect(stdout).toMatch(/created.*"id":1\}/);
    expect(stdout).toMatch(/local\/demo +memory_store +ok .*Cranes are yellow/);
    expect(stdout).toContain('1 session closed');
  });

  it('lists, replaces and closes sessions; wrong arguments give a hint', async () => {
    await home.ok(['sandbox', 'create', 'alice/work']);
    const first = await home.json<{ id: string; tools: string[] }>(['tools', 'open', 'alice/work']);
    expect(first.tools).toContain('ask_person');
    const again = await home.json<{ id: string }>(['tools', 'open', 'alice/work', '--replace']);
    expect(again.id).not.toBe(first.id);
    expect(await home.ok(['tools', 'ls', '--user', 'alice'])).toContain('alice/work');
    const wrong = await home.run(['tools', 'open', 'alice/work', '--tools', 'rm_rf']);
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('memory_search');
    expect(await home.json(['tools', 'close', '--all', '--user', 'alice'])).toEqual({ closed: 1 });
    expect(await home.json(['tools', 'close', 'alice/work'])).toEqual({ closed: 0 });
  });
});
