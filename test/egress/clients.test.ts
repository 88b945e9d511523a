import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { bubblewrapRuntime } from '../../src/runtimes/bubblewrap/bubblewrap.ts';
import { dockerRuntime } from '../../src/runtimes/docker/docker.ts';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import type { Sandbox } from '../../src/seams/sandbox.ts';
import { fixture, type Harness, openHarness } from '../contracts/harness.ts';
import { cargoProgram } from '../fixtures/cargo.ts';
import { allowing, hatchOf, type Opened, testNames, toHere, trusting } from './hatch-fixture.ts';
import { certificateFile, httpUpstream, tlsUpstream, type Upstream } from './upstreams.ts';

const { bubblewrap, docker } = inject('engines');
const has = (program: string) => existsSync(`/usr/bin/${program}`);

const cargo = cargoProgram();

/** Bubblewrap shows the programs of the machine, so these are its own clients, as people have them. */
describe.skipIf(!bubblewrap.available)(
  `real clients${bubblewrap.available ? '' : ` (skipped: ${bubblewrap.reason})`}`,
  // Compilers and package managers take their time on a busy machine.
  { timeout: 300_000 },
  () => {
    let harness: Harness;
    let folder: string;
    let files: Upstream;
    let tls: Upstream;
    /** A server with the same files over TLS, which the host inspects. */
    let secure: Upstream;
    let sandbox: Sandbox;
    let opened: Opened;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'geode-test-'));
      [harness, files, tls, secure] = await Promise.all([
        openHarness(bubblewrapRuntime),
        httpUpstream(filesOf(folder)),
        tlsUpstream(),
        tlsUpstream(filesOf(folder)),
      ]);
      sandbox = await harness.open();
      opened = await hatchOf(
        sandbox,
        allowing(
          toHere('allowed.test', files.port),
          toHere('allowed.test', tls.port),
          toHere('allowed.test', secure.port, { inspect: true, methods: ['GET', 'HEAD'] }),
        ),
        testNames,
        trusting,
      );
    });
    afterAll(async () => {
      opened?.hatch[Symbol.dispose]();
      await harness?.close();
      await Promise.all([files, tls, secure].map((server) => server?.[Symbol.asyncDispose]()));
      await rm(folder, { recursive: true, force: true });
    });
    const shell = (script: string) =>
      sandbox.exec({
        argv: ['sh', '-c', script],
        env: { ...opened.hatch.env, HOME: '/tmp' },
        timeoutMs: 200_000,
      });
    const base = () => `http://allowed.test:${files.port}`;
    const opening = () => `https://allowed.test:${secure.port}`;

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

    it.skipIf(!has('git'))('git clones over http, and over inspected https', async () => {
      const work = join(folder, 'work');
      const git = (...args: string[]) =>
        execFileSync('/usr/bin/git', args, { stdio: 'pipe', env: { PATH: '/usr/bin:/bin', HOME: folder } });
      git('init', '-q', '-b', 'main', work);
      await writeFile(join(work, 'readme'), 'from git');
      git('-C', work, 'add', '.');
      git('-C', work, '-c', 'user.name=x', '-c', 'user.email=x@x', 'commit', '-qm', 'first');
      git('clone', '-q', '--bare', work, join(folder, 'repo.git'));
      git('-C', join(folder, 'repo.git'), 'update-server-info');
      const result = await shell(
        `git clone -q ${base()}/repo.git cloned && cat cloned/readme; git clone -q ${opening()}/repo.git opened && cat opened/readme`,
      );
      expect(result.stdout, result.stderr).toBe('from gitfrom git');
    });

    it.skipIf(!has('pip3'))(
      'pip installs from an allowed index, and prints why another is refused',
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
        const options = '--quiet --disable-pip-version-check --no-cache-dir';
        const result = await shell(
          `pip3 install ${options} --target packages --trusted-host allowed.test --index-url ${base()}/simple/ tiny && PYTHONPATH=packages python3 -c 'import tiny; print(tiny.word)'`,
        );
        expect(result.stdout, result.stderr).toBe('installed\n');
        const through = await shell(
          `pip3 install ${options} --target opened --index-url ${opening()}/simple/ tiny && PYTHONPATH=opened python3 -c 'import tiny; print(tiny.word)'`,
        );
        expect(through.stdout, through.stderr).toBe('installed\n');
        const refused = await shell(
          `pip3 install ${options} --target packages --retries 1 --index-url https://pypi.other.test/simple/ tiny`,
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
      for (const [name, url] of [
        ['registry', base()],
        ['opened-registry', opening()],
      ] as const) {
        const versions = {
          '1.0.0': { name: 'tiny', version: '1.0.0', dist: { tarball: `${url}/tiny/tiny.tgz` } },
        };
        await mkdir(join(folder, name));
        await writeFile(
          join(folder, name, 'tiny'),
          JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }),
        );
        const result = await shell(
          `mkdir ${name} && cd ${name} && npm install --silent --no-audit --no-fund --no-update-notifier --cache ./cache --registry ${url}/${name}/ tiny && node -p 'require("tiny")'`,
        );
        expect(result.stdout, result.stderr).toContain('required');
      }
    });

    it.skipIf(!has('curl'))('curl trusts inspected TLS, and shows refused requests inside it', async () => {
      await writeFile(join(folder, 'opened.txt'), 'opened');
      const result = await shell(
        `curl -sS ${opening()}/opened.txt; curl -sS -X DELETE ${opening()}/opened.txt; wget -qO- --ca-certificate=$SSL_CERT_FILE ${opening()}/opened.txt`,
      );
      expect(result.stdout, result.stderr).toMatch(
        /^openedGeode refused this connection: .* allows not DELETE/,
      );
      expect(result.stdout).toMatch(/opened$/);
    });

    it.skipIf(cargo === undefined)(
      `cargo fetches a crate from an allowed index, over http and inspected https${cargo === undefined ? ' (skipped: cargo is not installed)' : ''}`,
      async () => {
        const source = join(folder, 'tiny-1.0.0');
        await mkdir(join(source, 'src'), { recursive: true });
        await writeFile(join(source, 'Cargo.toml'), '[package]\nname = "tiny"\nversion = "1.0.0"\n');
        await writeFile(join(source, 'src', 'lib.rs'), 'pub fn word() -> &\'static str { "fetched" }\n');
        await mkdir(join(folder, 'crates'));
        const crate = join(folder, 'crates', 'tiny.crate');
        execFileSync('tar', ['czf', crate, '-C', folder, 'tiny-1.0.0']);
        const cksum = createHash('sha256').update(readFileSync(crate)).digest('hex');
        const facts = { name: 'tiny', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false };
        await sandbox.files.write('cargo', readFileSync(cargo ?? ''));
        const fetching = async (name: string, url: string) => {
          const index = join(folder, name);
          await mkdir(join(index, 'ti', 'ny'), { recursive: true });
          await writeFile(join(index, 'ti', 'ny', 'tiny'), `${JSON.stringify(facts)}\n`);
          await writeFile(join(index, 'config.json'), JSON.stringify({ dl: `${url}/crates/{crate}.crate` }));
          return await shell(`
mkdir -p ${name}/src && cd ${name} && touch src/lib.rs && chmod +x ../cargo
printf '[package]\nname = "mine"\nversion = "0.1.0"\n[dependencies]\ntiny = { version = "1", registry = "own" }\n' > Cargo.toml
export CARGO_HOME=$PWD/home CARGO_REGISTRIES_OWN_INDEX=sparse+${url}/${name}/ CARGO_NET_RETRY=0
# Cargo before 1.68 knows sparse indexes as an unstable feature.
export RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_SPARSE_REGISTRY=true
../cargo vendor -q > /dev/null && cat vendor/tiny/src/lib.rs`);
        };
        for (const [name, url] of [
          ['cargo-plain', base()],
          ['cargo-opened', opening()],
        ] as const) {
          const result = await fetching(name, url);
          expect(result.stdout, result.stderr).toContain('"fetched"');
        }
        const refused = await fetching('cargo-refused', 'http://other.test');
        expect(refused.exitCode).not.toBe(0);
        expect(refused.stderr).toContain('other.test:80 is not in the policy');
        expect(refused.denied?.[0]).toMatchObject({ host: 'other.test', ask: '--allow other.test' });
      },
    );

    it('Python requests finds the proxy and trusts the roots by its own variable', async () => {
      await writeFile(join(folder, 'requests.txt'), 'by requests');
      const code = `
import sys
try: import requests
except ImportError: import pip._vendor.requests as requests
for url in sys.argv[1:]:
    try: a = requests.get(url, timeout=40); print(a.status_code, a.reason, a.text.split(chr(10))[0])
    except requests.exceptions.ProxyError as error: print('ProxyError', 'Geode: other.test:443 is not in the policy' in str(error))
`;
      await sandbox.files.write('by-requests.py', code);
      const result = await shell(
        `python3 by-requests.py ${base()}/requests.txt ${opening()}/requests.txt http://other.test/ https://other.test/`,
      );
      const refused = 'other.test:80 is not in the policy';
      expect(result.stdout, result.stderr).toBe(
        `200 OK by requests\n200 OK by requests\n403 Geode: ${refused} Geode refused this connection: ${refused}.\nProxyError True\n`,
      );
    });

    it('Go net/http finds the proxy, shows the reason, and trusts the roots', async () => {
      await writeFile(join(folder, 'go.txt'), 'by go');
      const program = join(folder, 'go-client');
      execFileSync('go', ['build', '-o', program, '.'], {
        cwd: fixture('go-client'),
        env: { ...process.env, CGO_ENABLED: '0' },
      });
      await sandbox.files.write('go-client', readFileSync(program));
      const result = await shell(
        `chmod +x go-client && ./go-client ${base()}/go.txt ${opening()}/go.txt http://other.test/ https://other.test/`,
      );
      expect(result.stdout, result.stderr).toBe(
        '200 by go\n200 by go\n403 Geode refused this connection: other.test:80 is not in the policy.\nfailed Get "https://other.test/": Geode: other.test:443 is not in the policy\n',
      );
    });

    it.skipIf(!has('apt-get') || !has('dpkg-deb'))('apt gets its index and a package', async () => {
      const control = join(folder, 'deb-tree', 'DEBIAN');
      await mkdir(control, { recursive: true });
      const facts =
        'Package: tiny\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@x>\nDescription: tiny\n';
      await writeFile(join(control, 'control'), facts);
      await mkdir(join(folder, 'deb'));
      const deb = join(folder, 'deb', 'tiny.deb');
      execFileSync('/usr/bin/dpkg-deb', ['-b', join(folder, 'deb-tree'), deb], { stdio: 'pipe' });
      const bytes = readFileSync(deb);
      const sum = createHash('sha256').update(bytes).digest('hex');
      await writeFile(
        join(folder, 'deb', 'Packages'),
        `${facts}Filename: ./tiny.deb\nSize: ${bytes.length}\nSHA256: ${sum}\n\n`,
      );
      const script = `
mkdir -p a/state/lists/partial a/cache/archives/partial a/etc && touch a/status
export APT_CONFIG=$PWD/apt.conf
printf 'Dir::State "%s";\nDir::State::status "%s";\nDir::Cache "%s";\nDir::Etc::sourcelist "%s";\nDir::Etc::sourceparts "-";\nAcquire::https::CaInfo "%s";\nAPT::Sandbox::User "";\nAcquire::Retries "0";\n' $PWD/a/state $PWD/a/status $PWD/a/cache $PWD/a/sources.list $SSL_CERT_FILE > apt.conf
for url in ${base()} ${opening()}; do
  echo "deb [trusted=yes] $url/deb ./" > a/sources.list
  rm -f tiny*.deb && apt-get -q update && apt-get -q download tiny && ls tiny*.deb
done
echo 'deb [trusted=yes] http://other.test/deb ./' > a/sources.list; apt-get -q update 2>&1
`;
      const result = await shell(script);
      expect(result.stdout.match(/^tiny_1\.0_all\.deb$/gm), result.stdout + result.stderr).toHaveLength(2);
      expect(result.stdout).toContain('Geode: other.test:80 is not in the policy');
    });
  },
);

function filesOf(folder: string): RequestListener {
  return (request, response) => {
    const asked = decodeURIComponent(request.url ?? '/').replace(/\?.*/, '');
    const path = join(folder, asked.replace(/\/$/, '/index.html'));
    if (!path.startsWith(folder) || !existsSync(path)) return void response.writeHead(404).end();
    const types = { json: 'application/json', html: 'text/html' } as const;
    const type = Object.entries(types).find(([ending]) => path.endsWith(`.${ending}`))?.[1];
    response.setHeader('content-type', type ?? 'application/octet-stream');
    response.end(readFileSync(path));
  };
}

describe.skipIf(!docker.available)(`Node${docker.available ? '' : ` (skipped: ${docker.reason})`}`, () => {
  it('fetch and https of Node find the proxy by themselves', async () => {
    const harness = await openHarness((options) => dockerRuntime(options, options.docker), {
      image: 'geode-test/node:1',
      ...(docker.available ? { dockerSocket: docker.socket } : {}),
    });
    try {
      await using plain = await httpUpstream();
      await using secure = await tlsUpstream();
      await using sandbox = await harness.open();
      const opened = await hatchOf(
        sandbox,
        allowing(
          toHere('allowed.test', plain.port, { paths: ['/a/*'] }),
          toHere('allowed.test', secure.port, { paths: ['/a/*'], inspect: true }),
        ),
        testNames,
        trusting,
      );
      using _hatch = opened.hatch;
      const code = `
const text = async (url) => { const a = await fetch(url); return a.status + ' ' + (await a.text()).split('\\n')[0]; };
console.log(await text('http://allowed.test:${plain.port}/a/fetch'));
console.log(await text('http://allowed.test:${plain.port}/b'));
console.log(await text('https://allowed.test:${secure.port}/a/opened'));
console.log(await text('https://allowed.test:${secure.port}/b'));
await fetch('https://other.test/').catch((error) => console.log(error.message));
`;
      const result = await sandbox.exec({
        argv: ['node', '--input-type=module', '-e', code],
        env: opened.hatch.env,
        timeoutMs: 50_000,
      });
      expect(result.stdout.split('\n').slice(0, 5), result.stderr).toEqual([
        `200 hello from allowed.test:${plain.port}/a/fetch`,
        expect.stringMatching(/^403 Geode refused this connection: .* allows not GET of this path/),
        `200 hello from allowed.test:${secure.port}/a/opened`,
        expect.stringMatching(/^403 Geode refused this connection: .* allows not GET of this path/),
        'fetch failed',
      ]);
      expect(result.denied?.map(({ host }) => host)).toEqual(['allowed.test', 'allowed.test', 'other.test']);
    } finally {
      await harness.close();
    }
  });
});

describe('native', () => {
  it('gives programs the proxy variables, and reports enforced: false', async () => {
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
