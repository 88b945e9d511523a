/** The tests of a host in a container: the image of images/host, started as deploy/compose.yaml says. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './contracts/harness.ts';
import { installPackages } from './engine/apt.ts';
import { command } from './engine/command.ts';
import { imageTag } from './engine/images.ts';
import { locked } from './engine/lock.ts';
import { mirrorSettings } from './images/reach.ts';

const deploy = fileURLToPath(new URL('../deploy/', import.meta.url));
const images = fileURLToPath(new URL('../images/', import.meta.url));
const MOST_BYTES = 400e6;

/** Every setting of the service, so that a new one is tested too. */
const composeSchema = z.object({
  services: z.object({
    geode: z.strictObject({
      image: z.literal('localhost/geode/host'),
      build: z.object({ args: z.record(z.string(), z.string()) }),
      hostname: z.literal('geode'),
      init: z.literal(true),
      read_only: z.literal(true),
      cap_drop: z.tuple([z.literal('ALL')]),
      security_opt: z.array(z.string()),
      tmpfs: z.array(z.string()),
      ports: z.tuple([z.string().startsWith('127.0.0.1:4430:4430')]),
      volumes: z.tuple([z.string()]),
      environment: z.record(z.string(), z.string().nullable()),
      restart: z.literal('unless-stopped'),
      stop_grace_period: z.string(),
    }),
  }),
});

export function hostImageTests(world: () => { readonly registry: string; readonly version: string }): void {
  const { docker } = inject('engines');
  const title = (text: string) => `${text}${docker.available ? '' : ` (skipped: ${docker.reason})`}`;

  it.skipIf(!docker.available)(
    title(
      'OPS-1: the image has at most 400 MB; as compose.yaml starts it, it is healthy and seals sandboxes',
    ),
    async () => {
      const { registry, version } = world();
      const engine = {
        env: { DOCKER_HOST: docker.available ? `unix://${docker.socket}` : '', DOCKER_BUILDKIT: '0' },
      };
      const run = (args: readonly string[], timeoutMs = 120_000) =>
        command('docker', args, { ...engine, timeoutMs });
      const service = await composeService();
      const name = `geode-host-${randomBytes(4).toString('hex')}`;
      const image = `localhost/geode/host:${name}`;
      await using _left = {
        async [Symbol.asyncDispose]() {
          await run(['rm', '--force', '--volumes', name]);
          await run(['volume', 'rm', '--force', name]);
          await run(['image', 'rm', '--force', image]);
        },
      };

      const { GEODE_IMAGES_DEBIAN_MIRROR: mirror = '' } = await mirrorSettings();
      const values = {
        BASE: imageTag('base'),
        DEBIAN_MIRROR: mirror,
        NPM_REGISTRY: registry,
        GEODE_VERSION: version,
      };
      expect(Object.keys(service.build.args).sort()).toEqual(Object.keys(values).sort());
      const args = Object.entries(values).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
      await run(
        ['build', '--network', 'host', '--file', `${images}host/Dockerfile`, '--tag', image, ...args, images],
        600_000,
      );
      expect(Number(await run(['image', 'inspect', '--format', '{{.Size}}', image]))).toBeLessThan(
        MOST_BYTES,
      );

      // A container with the engine's usual protection says what it lacks.
      const usual = await run(['run', '--rm', image, 'sh', '-c', 'geode doctor || echo "code $?"']);
      expect(usual).toContain('refuses namespaces, by its seccomp profile');
      expect(usual).toMatch(/^Not ready: fix .*isolation.*\ncode 1\n$/m);

      const security = service.security_opt.map((option) =>
        option.replace('seccomp:seccomp.json', `seccomp=${deploy}seccomp.json`),
      );
      const environment = Object.entries(service.environment).flatMap(([key, value]) =>
        value === null ? [] : ['--env', `${key}=${value}`],
      );
      await run([
        ...['run', '--detach', '--name', name, '--hostname', service.hostname, '--init', '--read-only'],
        ...service.cap_drop.flatMap((capability) => ['--cap-drop', capability]),
        ...security.flatMap((option) => ['--security-opt', option]),
        ...service.tmpfs.flatMap((mount) => ['--tmpfs', mount]),
        ...environment,
        ...['--volume', `${name}:/var/lib/geode`, '--health-interval', '1s', image],
      ]);
      const untilHealthy = () =>
        eventually(
          async () => (await run(['inspect', '--format', '{{.State.Health.Status}}', name])) === 'healthy\n',
          'a healthy container',
          180_000,
        );
      await untilHealthy();
      expect(await run(['logs', name])).toContain('Ready. Strongest isolation here: os.\n');
      const inside = (...args: readonly string[]) => run(['exec', name, ...args]);
      expect(await inside('sh', '-c', 'id -u; hostname; touch /usr/x 2>/dev/null || echo read-only')).toBe(
        '1000\ngeode\nread-only\n',
      );
      expect(await inside('geode', 'run', 'python', '-c', 'print(6*7)')).toBe('42\n');
      await inside('geode', 'sandbox', 'create', 'work');
      expect(
        await inside('geode', 'sandbox', 'exec', 'work', '--', 'sh', '-c', 'echo kept >note; id -un'),
      ).toBe('sandbox\n');

      await run(['restart', '--time', '60', name]);
      await untilHealthy();
      expect(await inside('geode', 'sandbox', 'exec', 'work', '--', 'cat', 'note')).toBe('kept\n');
    },
    900_000,
  );
}

/** The service as Compose understands the file, which refuses a file that it does not understand. */
async function composeService() {
  await locked('setup', () => installPackages(['docker-compose', 'python3-yaml']));
  // Version 1 looks for the profile in the working folder.
  const yaml = await command('sh', ['-c', 'cd "$1" && exec docker-compose config', 'sh', deploy], {
    timeoutMs: 60_000,
    env: { GEODE_MEMORY_INDEX: undefined, GEODE_CHAT_POSTGRES: undefined, GEODE_PORT: undefined },
  });
  const asJson = 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))';
  const text = await command('python3', ['-c', asJson, yaml], { timeoutMs: 60_000 });
  return composeSchema.parse(JSON.parse(text)).services.geode;
}
