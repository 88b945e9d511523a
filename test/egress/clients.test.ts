import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Sandbox } from '../../src/core/sandbox.ts';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { type Harness, openHarness } from '../contracts/harness.ts';
import { allowing, hatchOf, type Opened, toHere } from './hatch-fixture.ts';
import { certificateFile, httpUpstream, tlsUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap, docker } = inject('engines');
const has = (program: string) => existsSync(`/usr/bin/${program}`);

/** Bubblewrap shows the programs of the machine, so these are its own clients, as people have them. */
describe.skipIf(!bubblewrap.available)(
  `real clients${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  () => {
    let harness: Harness;
    let folder: string;
    let files: Upstream;
    let tls: Upstream;
    let sandbox: Sandbox;
    let opened: Opened;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'geode-test-'));
      [harness, files, tls] = await Promise.all([
        openHarness(bubblewrapRuntime),
        httpUpstream((request, response) => {
          const path = join(
            folder,
            decodeURIComponent(request.url ?? '/')
              .replace(/\?.*/, '')
              .replace(/\/$/, '/index.html'),
          );
          if (!path.startsWith(folder) || !existsSync(path)) return void response.writeHead(404).end();
          response.setHeader(
            'content-type',
            path.endsWith('.json')
              ? 'application/json'
              : path.endsWith('.html')
                ? 'text/html'
                : 'application/octet-stream',
          );
          response.end(readFileSync(path));
        }),
        tlsUpstream(),
      ]);
      sandbox = await harness.open();
      opened = await hatchOf(
        sandbox,
        allowing(toHere('allowed.test', files.port), toHere('allowed.test', tls.port)),
      );
    });
    afterAll(async () => {
      opened?.hatch[Symbol.dispose]();
      await harness?.close();
      await Promise.all([files, tls].map((server) => server?.[Symbol.asyncDispose]()));
      await rm(folder, { recursive: true, force: true });
    });
    const shell = (script: string) =>
      sandbox.exec({
        argv: ['sh', '-c', script],
        env: { ...opened.hatch.env, HOME: '/tmp' },
        timeoutMs: 80_000,
      });
    const base = () => `http://allowed.test:${files.port}`;

    it.skipIf(!has('curl'))('curl gets http and https, and shows a refusal', async () => {
      await writeFile(join(folder, 'file.txt'), 'content');
      await sandbox.files.write('ca.crt', readFileSync(certificateFile));
      const result = await shell(
        `curl -sS ${base()}/file.txt; curl -sS --cacert ca.crt https://allowed.test:${tls.port}/x; curl -sS --proxy socks5h://\${HTTP_PROXY#http://} ${base()}/file.txt; curl -sS http://other.test/; curl -sS https://other.test/`,
      );
      expect(result.stdout).toContain(`contenthello from allowed.test:${tls.port}/xcontent`);
      expect(result.stdout).toContain('other.test:80 is not in the policy');
      expect(result.stderr).toContain('CONNECT tunnel failed, response 403');
    });

    it.skipIf(!has('wget'))('wget gets http, and shows the reason of a refusal', async () => {
      await writeFile(join(folder, 'wget.txt'), 'fetched');
      const result = await shell(`wget -qO- ${base()}/wget.txt; wget -nv -O- --tries=1 http://other.test/`);
      expect(result.stdout).toBe('fetched');
      expect(result.stderr).toContain('403: Geode: other.test:80 is not in the policy');
    });

    it.skipIf(!has('git'))('git clones over http', async () => {
      const work = join(folder, 'work');
      const git = (...args: string[]) =>
        execFileSync('/usr/bin/git', args, { stdio: 'pipe', env: { PATH: '/usr/bin:/bin', HOME: folder } });
      git('init', '-q', '-b', 'main', work);
      await writeFile(join(work, 'readme'), 'from git');
      git('-C', work, 'add', '.');
      git('-C', work, '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-qm', 'first');
      git('clone', '-q', '--bare', work, join(folder, 'repo.git'));
      git('-C', join(folder, 'repo.git'), 'update-server-info');
      const result = await shell(`git clone -q ${base()}/repo.git cloned && cat cloned/readme`);
      expect(result.stdout, result.stderr).toBe('from git');
    });

    it.skipIf(!has('pip3'))(
      'pip installs from an allowed index, and is told why another is refused',
      async () => {
        await mkdir(join(folder, 'simple', 'tiny'), { recursive: true });
        const wheel = 'tiny-1.0-py3-none-any.whl';
        execFileSync('/usr/bin/python3', [
          '-c',
          `import sys, zipfile
z = zipfile.ZipFile(sys.argv[1], 'w')
z.writestr('tiny.py', 'word = "installed"')
z.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
z.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
z.writestr('tiny-1.0.dist-info/RECORD', '')
z.close()`,
          join(folder, 'simple', 'tiny', wheel),
        ]);
        await writeFile(join(folder, 'simple', 'tiny', 'index.html'), `<a href="${wheel}">${wheel}</a>`);
        const options =
          '--quiet --disable-pip-version-check --no-cache-dir --target packages --trusted-host allowed.test';
        const result = await shell(
          `pip3 install ${options} --index-url ${base()}/simple/ tiny && PYTHONPATH=packages python3 -c 'import tiny; print(tiny.word)'`,
        );
        expect(result.stdout, result.stderr).toBe('installed\n');
        const refused = await shell(
          `pip3 install ${options} --retries 1 --index-url https://pypi.other.test/simple/ tiny`,
        );
        expect(refused.exitCode).not.toBe(0);
        expect(refused.denied?.[0]).toMatchObject({
          host: 'pypi.other.test',
          port: 443,
          ask: '--allow pypi.other.test',
        });
      },
    );

    it.skipIf(!has('npm'))('npm installs from an allowed registry', async () => {
      const source = join(folder, 'package');
      await mkdir(source);
      await writeFile(join(source, 'package.json'), '{"name":"tiny","version":"1.0.0"}');
      await writeFile(join(source, 'index.js'), 'module.exports = "required"');
      await mkdir(join(folder, 'tiny'));
      execFileSync('tar', ['czf', join(folder, 'tiny', 'tiny.tgz'), '-C', folder, 'package']);
      const dist = { tarball: `${base()}/tiny/tiny.tgz` };
      const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } };
      await writeFile(
        join(folder, 'tiny.json'),
        JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }),
      );
      await rm(join(folder, 'registry'), { recursive: true, force: true });
      await mkdir(join(folder, 'registry'));
      await writeFile(join(folder, 'registry', 'tiny'), readFileSync(join(folder, 'tiny.json')));
      const result = await shell(
        `npm install --silent --no-audit --no-fund --no-update-notifier --registry ${base()}/registry/ tiny && node -p 'require("tiny")'`,
      );
      expect(result.stdout, result.stderr).toContain('required');
    });
  },
);

describe.skipIf(!docker.available)(`Node${docker.available ? '' : ` (skipped: ${docker.reason})`}`, () => {
  it('fetch and https of Node find the proxy by themselves', async () => {
    const harness = await openHarness((options) => dockerRuntime(options, options.docker), {
      image: 'geode-test/node:1',
      ...(docker.available ? { dockerSocket: docker.socket } : {}),
    });
    try {
      await using plain = await httpUpstream();
      await using sandbox = await harness.open();
      const opened = await hatchOf(
        sandbox,
        allowing(toHere('allowed.test', plain.port, { paths: ['/a/*'] })),
      );
      using _hatch = opened.hatch;
      const code = `
const text = async (url) => { const a = await fetch(url); return a.status + ' ' + (await a.text()).split('\\n')[0]; };
console.log(await text('http://allowed.test:${plain.port}/a/fetch'));
console.log(await text('http://allowed.test:${plain.port}/b'));
await fetch('https://other.test/').catch((error) => console.log(error.message));
`;
      const result = await sandbox.exec({
        argv: ['node', '--input-type=module', '-e', code],
        env: opened.hatch.env,
        timeoutMs: 50_000,
      });
      expect(result.stdout.split('\n').slice(0, 3), result.stderr).toEqual([
        `200 hello from allowed.test:${plain.port}/a/fetch`,
        expect.stringMatching(/^403 Geode refused this connection: .* allows not GET of this path/),
        'fetch failed',
      ]);
      expect(result.denied?.map(({ host }) => host)).toEqual(['allowed.test', 'other.test']);
    } finally {
      await harness.close();
    }
  });
});

describe('native', () => {
  it('gives programs the variables, and says that nothing is enforced', async () => {
    const harness = await openHarness(nativeRuntime);
    try {
      await using plain = await httpUpstream();
      await using sandbox = await harness.open();
      const opened = await hatchOf(sandbox, allowing(toHere('allowed.test', plain.port)));
      using _hatch = opened.hatch;
      expect(opened.hatch.enforced).toBe(false);
      const code = `import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=40).status)`;
      const url = `http://allowed.test:${plain.port}/`;
      const result = await sandbox.exec({
        argv: ['python3', '-c', code, url],
        env: opened.hatch.env,
        timeoutMs: 50_000,
      });
      expect(result.stdout, result.stderr).toBe('200\n');
    } finally {
      await harness.close();
    }
  });
});
