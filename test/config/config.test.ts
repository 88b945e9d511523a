import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { masked } from '../../src/config/masked.ts';
import { mostLimits } from '../../src/config/sandbox-limits.ts';
import { type Machine, thisMachine } from '../../src/machine/machine.ts';
import { eachOf } from '../each-of.ts';

describe('config', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'geode-config-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const host = (overrides: Record<string, string> = {}): Machine =>
    thisMachine({ HOME: folder, PATH: '/usr/bin', ...overrides });
  const load = async (text: string, overrides?: Record<string, string>) => {
    const path = join(folder, 'geode.json');
    await writeFile(path, text);
    return loadConfig(host(overrides), path);
  };

  it('CFG-1: works without a file, with safe defaults', async () => {
    const { config, settings } = await loadConfig(host());
    expect(config.runtime).toEqual({ name: 'auto', allow_fallback_to_native: false });
    expect(config.security.shell).toBe('standard');
    expect(eachOf(settings).every(({ source }) => source.from === 'default')).toBe(true);
  });

  it('CFG-1: has a section for each part, and CA-1: agents inside sandboxes have the promised limits', async () => {
    const { config } = await loadConfig(host());
    expect(Object.keys(config)).toEqual(
      expect.arrayContaining(
        'runtime sandbox container_agent memory qdrant providers gateway channels security'.split(' '),
      ),
    );
    const { memory, cpus, timeout, network, mounts, concurrency } = config.container_agent;
    expect({ memory, cpus, timeout, network, mounts }).toEqual({
      ...{ memory: 1024 ** 3, cpus: 2, timeout: 300, network: 'none', mounts: [] },
    });
    expect(concurrency).toBeGreaterThan(0);
  });

  it('CFG-1: accepts comments and trailing commas, and reports the origin of each value', async () => {
    const { config, settings } = await load(
      '{ // why\n "runtime": { "name": "docker", },\n "sandbox": { "memory": "1g", "cpus": null } }',
      { GEODE_SANDBOX_PIDS: '99' },
    );
    expect(config).toMatchObject({
      runtime: { name: 'docker' },
      sandbox: { memory: 1024 ** 3, cpus: null, pids: 99 },
    });
    const source = (name: string) => settings.find((setting) => setting.name === name)?.source;
    expect(source('runtime.name')).toEqual({ from: 'file', path: join(folder, 'geode.json') });
    expect(source('sandbox.pids')).toEqual({ from: 'variable', name: 'GEODE_SANDBOX_PIDS' });
    expect(source('docker.image')).toEqual({ from: 'default' });
  });

  it('CFG-1: the environment wins over the file', async () => {
    const { config } = await load('{ "runtime": { "name": "docker" } }', {
      GEODE_RUNTIME_NAME: 'bubblewrap',
      GEODE_SECURITY_MOUNT_ROOTS: '["/srv"]',
    });
    expect(config).toMatchObject({ runtime: { name: 'bubblewrap' }, security: { mount_roots: ['/srv'] } });
  });

  it.for([
    ['{ "runtime": { "nmae": "docker" } }', /runtime\.nmae/, /runtime\.name/],
    ['{ "runtmie": {} }', /runtmie/, /runtime|settings/],
    ['{ "runtime": { "name": "warp" } }', /runtime\.name/, /geode config/],
    ['{ "sandbox": { "memory": "5 potatoes" } }', /sandbox\.memory/, /./],
    ['{ "sandbox": { "memory": "0" } }', /sandbox\.memory/, /./],
    ['{ "sandbox": { "cpus": -1 } }', /sandbox\.cpus/, /./],
    ['{ "sandbox": { "max_cpus": 1e400 } }', /sandbox\.max_cpus/, /./],
    [
      '{ "sandbox": { "max_memory": "256m" } }',
      /sandbox\.max_memory.*below the default.*sandbox\.memory/,
      /./,
    ],
    ['{ "security": { "mount_roots": ["relative"] } }', /mount_roots/, /./],
    ['{ "runtime": ', /line 1, column/, /./],
    ['[]', /config/, /./],
  ] as const)('CFG-1: refuses %s and names what is wrong', async ([text, message, hint]) => {
    await expect(load(text)).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });

  it.for([
    ['{}', { memoryBytes: 4 * 1024 ** 3, cpus: 4, pids: 4096 }],
    [
      '{ "sandbox": { "memory": "16g", "pids": 64, "max_pids": 128 } }',
      { memoryBytes: 16 * 1024 ** 3, pids: 128 },
    ],
    [
      '{ "sandbox": { "memory": "128m", "max_memory": "256m", "cpus": null } }',
      { memoryBytes: 256 * 1024 ** 2, cpus: null },
    ],
    ['{ "sandbox": { "max_disk": null } }', { diskBytes: null }],
  ] as const)('RT-7: %s allows every caller its own defaults, and at most %j', async ([text, most]) => {
    expect(mostLimits((await load(text)).config)).toMatchObject(most);
  });

  it('CFG-1: masks credentials in every setting, and shows the rest', async () => {
    const { settings } = await load(
      JSON.stringify({
        providers: { services: { mine: { kind: 'anthropic', api_key: 'credential-1' } } },
        memory: { embedder: 'openai', model: 'm', dimensions: 8, api_key: 'credential-2' },
        mcp: {
          servers: {
            local: {
              command: ['serve', '--level', 'debug'],
              env: { GITHUB_TOKEN: 'credential-3', LEVEL: 'x' },
            },
            far: { url: 'https://mcp.example/?region=eu&api_key=credential-4' },
            old: { url: 'https://ann:credential-5@mcp.example/' },
          },
        },
      }),
      { GEODE_QDRANT_API_KEY: 'credential-6', GEODE_QDRANT_URL: 'http://ann:credential-7@127.0.0.1:6333' },
    );
    expect(JSON.stringify(settings).match(/credential-\d/g)).toHaveLength(7);
    const shown = JSON.stringify(settings.map((setting) => ({ name: setting.name, value: masked(setting) })));
    expect(shown.match(/credential-\d/g)).toBeNull();
    for (const kept of ['anthropic', 'debug', 'GITHUB_TOKEN', 'region=eu', 'ann:***@127.0.0.1:6333'])
      expect(shown).toContain(kept);
  });

  it('CFG-1: refuses a variable that is not a setting, with the nearest name', async () => {
    await expect(loadConfig(host({ GEODE_RUNTIME_NAEM: 'x' }))).rejects.toMatchObject({
      code: 'invalid_config',
      hint: expect.stringContaining('GEODE_RUNTIME_NAME'),
    });
  });

  it('CFG-1: refuses a given config file that does not exist', async () => {
    await expect(loadConfig(host(), join(folder, 'missing.json'))).rejects.toMatchObject({
      code: 'invalid_config',
    });
    await expect(loadConfig(host({ GEODE_CONFIG: join(folder, 'missing.json') }))).rejects.toMatchObject({
      code: 'invalid_config',
    });
  });
});
