import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type EgressHost, openEgress } from '../../src/egress/open-egress.ts';
import type { EgressSpec } from '../../src/seams/egress.ts';
import { httpUpstream, type Upstream } from '../egress/upstreams.ts';
import { type TemporaryFolder, temporaryFolder } from '../temporary-folder.ts';
import { answers, openShop, reflection, solution } from './shop.ts';

const { bubblewrap } = inject('engines');
const has = (program: string) => existsSync(`/usr/bin/${program}`);
const reason = !bubblewrap.available ? bubblewrap.reason : 'pip is not installed on this machine';
const works = bubblewrap.available && has('pip3');

const problem = 'Print the word of the package tiny.';

/** Bubblewrap shows the programs of the machine, so these are its own installers, as people have them. */
describe.skipIf(!works)(`packages of a solution${works ? '' : ` (skipped: ${reason})`}`, () => {
  it('are installed through the hatch in a separate run, counted separately, and the solution has no network', async () => {
    const reaches =
      'import tiny, urllib.request\nprint(tiny.word)\n' +
      'try:\n    urllib.request.urlopen("http://127.0.0.1:' +
      `${index.port}` +
      '/")\n    print("reached")\nexcept OSError:\n    print("sealed")\n';
    const script = answers(
      solution(reaches, '', 'python', '', ['tiny==2.0']),
      reflection('There is no such version.'),
      solution(`# once more\n${reaches}`, '', 'python', '', ['tiny']),
    );
    await using shop = await openShop(folder.path, script, { egress });
    const { events, result } = await shop.solve({
      ...{ problem, language: 'python', expect: 'installed\nsealed' },
      egress: fromIndex(),
    });
    expect(result, JSON.stringify(result)).toMatchObject({ outcome: 'solved', attempts: 2 });
    expect(shop.server.calls[0]?.prompt).toContain('`dependencies`');
    const { attempts } = shop.solves.of('alice').get(result.id);
    expect(attempts[0]).toMatchObject({
      state: 'failed',
      run: null,
      installation: { packages: ['tiny==2.0'], succeeded: false },
    });
    expect(attempts[0]?.verdict?.reason).toContain('tiny==2.0 could not be installed');
    expect(shop.server.calls[2]?.prompt).toContain('tiny==2.0 could not be installed');
    expect(attempts[1]).toMatchObject({ installation: { packages: ['tiny'], succeeded: true } });
    expect(events.filter(({ type }) => type === 'install')).toHaveLength(2);
    // The host added the credential; the sandbox never had it.
    expect(index.seen.at(-1)?.headers.authorization).toMatch(/^Basic /);
    const crystals = shop.solves.crystals('alice');
    expect(await crystals.get(result.crystal ?? '')).toMatchObject({ dependencies: ['tiny'] });
    await expect(crystals.verify(result.crystal ?? '')).rejects.toMatchObject({ code: 'invalid_input' });
    const { verdict } = await crystals.verify(result.crystal ?? '', { egress: fromIndex() });
    expect(verdict).toMatchObject({ label: 'verified', by: 'expected-output' });
  });

  it('are refused when installs are not allowed, and when the policy does not allow the package index', async () => {
    const script = answers(
      solution('import tiny', '', 'python', '', ['tiny']),
      solution('import tiny', '', 'python', '', ['tiny']),
      solution('import tiny', '', 'python', '', ['--index-url=http://evil.test', 'git+http://evil.test/x']),
      solution('import tiny', '', 'python', '', ['./somewhere']),
      solution('fn main() {}', '', 'rust', '', ['serde']),
    );
    await using shop = await openShop(folder.path, script, { egress });
    const refused = async (language: string, spec?: EgressSpec) => {
      const { result } = await shop.solve({ problem, language, expect: 'x', attempts: 1, egress: spec });
      expect(result.outcome).toBe('failed');
      return result.verdict?.reason;
    };
    expect(await refused('python')).toContain('no registry is allowed');
    const nowhere = { policy: { mode: 'deny-all', allow: [], deny: [] }, bindings: [] } as const;
    expect(await refused('python', nowhere)).toContain('pypi.org');
    expect(await refused('python', fromIndex())).toContain('is not the name of a package');
    expect(await refused('rust', fromIndex())).toContain('Packages cannot be installed for rust');
    expect(index.seen).toEqual([]);
  });

  it.skipIf(!has('npm'))('are installed from npm for JavaScript', async () => {
    const source = join(folder.path, 'package');
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, 'package.json'), '{"name":"tiny","version":"1.0.0","main":"index.js"}');
    writeFileSync(join(source, 'index.js'), 'exports.word = "installed";');
    execFileSync('tar', ['-czf', join(folder.path, 'tiny.tgz'), '-C', folder.path, 'package']);
    const script = answers(solution('console.log(require("tiny").word)', '', 'javascript', '', ['tiny']));
    await using shop = await openShop(folder.path, script, { egress });
    const { result } = await shop.solve({
      ...{ problem, language: 'javascript', expect: 'installed' },
      egress: fromIndex('npm'),
    });
    expect(result.outcome, JSON.stringify(result)).toBe('solved');
  });
});

function fromIndex(name = 'pypi'): EgressSpec {
  return {
    policy: { mode: 'deny-all', allow: [], deny: [] },
    bindings: [{ name, upstream: `http://127.0.0.1:${index.port}` }],
  };
}

const wheelName = 'tiny-1.0-py3-none-any.whl';
const wheelOf = `import sys, zipfile
z = zipfile.ZipFile(sys.argv[1], 'w')
z.writestr('tiny.py', 'word = "installed"')
z.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
z.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
z.writestr('tiny-1.0.dist-info/RECORD', '')
z.close()`;

let folder: TemporaryFolder;
let index: Upstream;
let egress: EgressHost;
beforeEach(async () => {
  folder = temporaryFolder();
  const wheel = join(folder.path, wheelName);
  if (works) execFileSync('/usr/bin/python3', ['-c', wheelOf, wheel]);
  index = await httpUpstream(({ url = '' }, response) => {
    if (url.startsWith('/simple/tiny/') && url.endsWith('.whl')) return response.end(readFileSync(wheel));
    if (url === '/simple/tiny/') {
      response.setHeader('content-type', 'text/html');
      return response.end(`<a href="${wheelName}">${wheelName}</a>`);
    }
    if (url === '/tiny.tgz') return response.end(readFileSync(join(folder.path, 'tiny.tgz')));
    if (url === '/tiny') {
      response.setHeader('content-type', 'application/json');
      // npm replaces this registry with the configured one.
      const dist = { tarball: 'https://registry.npmjs.org/tiny.tgz' };
      const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } };
      return response.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }));
    }
    return response.writeHead(404).end();
  });
  egress = openEgress({
    ledgerFile: join(folder.path, 'egress.db'),
    audit: { mostRecords: 1_000, keepMs: 3_600_000 },
    secretsKeyFile: join(folder.path, 'secrets.key'),
    usage: { budgetPerDay: null, prices: {} },
    warn: () => {},
  });
  egress.secrets.set('alice', 'pypi', 'a-token-of-the-index');
  egress.secrets.set('alice', 'npm', 'a-token-of-the-registry');
});
afterEach(async () => {
  egress[Symbol.dispose]();
  await index[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});
