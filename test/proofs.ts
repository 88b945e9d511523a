/**
 * Which suites prove an id: in each of them a test that names the id has to pass in a whole run. A suite is a test
 * file, or `file > words` for the tests of it whose full name has these words. An id that is claimed and does not
 * stand here is proven by any one test.
 */
const runtime = (...names: string[]) => names.map((name) => `test/runtimes/${name}.test.ts`);
const runs = (...names: string[]) => names.map((name) => `test/runs/${name}.test.ts`);
const sandboxes = (...names: string[]) => names.map((name) => `test/sandboxes/${name}.test.ts`);
const shell = (...names: string[]) => names.map((name) => `test/shell/${name}.test.ts`);
const memory = (...names: string[]) => names.map((name) => `test/memory/${name}.test.ts`);
const api = (...names: string[]) => names.map((name) => `test/api/${name}.test.ts`);
const agents = (...names: string[]) => names.map((name) => `test/agents/${name}.test.ts`);
const solve = (...names: string[]) => names.map((name) => `test/solve/${name}.test.ts`);
const link = (...names: string[]) => names.map((name) => `test/link/${name}.test.ts`);

const containers = runtime('docker', 'docker-stdio', 'podman');
const walled = [...containers, ...runtime('bubblewrap')];
const every = [...walled, ...runtime('native', 'apple')];
const persistent = ['docker', 'bubblewrap', 'native'].map(
  (name) => `test/sandboxes/registry.test.ts > ${name}`,
);
const oneShot = runs('docker', 'bubblewrap', 'native');
const languages = ['python', 'javascript', 'typescript', 'shell', 'rust', 'go'].flatMap((language) =>
  oneShot.map((file) => `${file} > RUN-1: ${language} on`),
);
const contexts = ['python', 'javascript'].flatMap((language) =>
  ['docker', 'bubblewrap', 'native'].map(
    (name) => `test/runs/contexts-lifecycle.test.ts > ${language} on ${name}`,
  ),
);

const toolWalls = ['bubblewrap', 'docker'].map((name) => `test/mcp/sessions.test.ts > in a ${name} sandbox`);

export const proofs: Readonly<Record<string, readonly string[]>> = {
  'RT-1': [...every, ...runtime('gvisor', 'oci')],
  'RT-2': every,
  'RT-3': [...every, ...runtime('bubblewrap-probe', 'choice')],
  'RT-4': runtime('choice'),
  'RT-5': [
    ...every,
    ...runtime('gvisor'),
    'test/cli/cli.test.ts',
    ...api('code'),
    'test/dashboard/sandboxes.test.ts',
  ],
  'RT-6': [...walled, ...runtime('docker-walls', 'seccomp')],
  'RT-7': [
    ...every,
    ...runtime('docker-walls'),
    ...['without a control group', 'in a group that was given'].map(
      (words) => `test/runtimes/ordinary-user.test.ts > ${words}`,
    ),
    ...['bubblewrap', 'docker'].map((wall) => `test/host/most-limits.test.ts > maxima of limits on ${wall}`),
    'test/config/limits.test.ts',
    'test/config/config.test.ts',
  ],
  'RT-8': runtime('mounts', 'mounted', 'docker-walls'),
  'RT-9': [...every, ...runtime('docker-walls')],
  'RT-10': [...every, ...runtime('docker-walls')],
  'RT-11': runtime('apple'),
  'RT-12': [...every, ...runtime('engine-gone'), ...runs('docker', 'bubblewrap')],
  'SH-1': ['test/e2e/shell-tool.test.ts', ...shell('tool')],
  'SH-2': shell('bounds', 'corpus', 'reading', 'rules'),
  'SH-3': ['test/e2e/shell-tool.test.ts', ...shell('modes', 'rules')],
  'SH-4': [...every, ...runtime('path-race')],
  'SH-5': ['test/e2e/shell-tool.test.ts', ...shell('format')],
  'SH-6': shell('corpus', 'left-to-the-sandbox'),
  'GL-1': [...every, ...runtime('docker-walls')],
  'GL-2': [...every, ...runtime('guest-start')],
  'GL-3': [...every, ...link('flood')],
  'GL-4': containers,
  'GL-5': [...link('hostile-guest', 'reconnect'), ...runtime('guest-start')],
  'GL-6': link('hostile-guest', 'guest-upgrade'),
  'GL-7': [...walled, ...link('reconnect'), 'test/e2e/killed-host.test.ts'],
  'GL-8': [...every, ...link('hostile-guest', 'reconnect')],
  'RUN-1': [...languages, ...runs('defaults', 'cli')],
  'RUN-2': [...oneShot, ...runs('defaults')],
  'RUN-3': oneShot,
  'RUN-4': oneShot,
  'RUN-5': [...oneShot, ...runs('defaults')],
  'RUN-6': [...oneShot, ...runs('crash', 'leaks')],
  'RUN-7': runs('pull'),
  'RUN-8': [...runs('ahead', 'queue'), ...sandboxes('pool')],
  'RUN-9': oneShot,
  'RUN-10': [
    ...contexts,
    ...runs('contexts-interrupts', 'contexts-python', 'contexts-javascript'),
    ...['pandas', 'matplotlib'].map((name) => `test/runs/contexts-python.test.ts > ${name}`),
  ],
  'OPS-2': [
    ...['consistent', 'verified', 'second home', 'holds a secret', 'disk limit'].map(
      (words) => `test/host/backup.test.ts > ${words}`,
    ),
    'test/host/backup-kills.test.ts',
  ],
  'OPS-3': ['test/host/upgrade.test.ts'],
  'OPS-4': [
    'test/host/metrics.test.ts',
    'test/telemetry/traces.test.ts > joins a chat message',
    'test/telemetry/traces.test.ts > trace of a caller',
    'test/telemetry/traces.test.ts > collector is away',
    'test/telemetry/traces.test.ts > SDK of OpenTelemetry',
    'test/telemetry/exporter.test.ts',
    'test/telemetry/relay.test.ts',
    'test/api/tls.test.ts',
    'test/host/host-status.test.ts',
    'test/api/failures.test.ts',
  ],
  'OPS-6': ['test/docs-examples.test.ts', 'test/documents.test.ts'],
  'SBX-1': persistent,
  'SBX-2': persistent,
  'SBX-3': persistent,
  'SBX-4': [...persistent, ...every],
  'SBX-5': [...persistent, ...sandboxes('idle')],
  'SBX-6': [...persistent, ...sandboxes('crash'), 'test/e2e/examples.test.ts'],
  'SBX-7': [...persistent, ...sandboxes('workspaces/snapshots', 'workspaces/hostile', 'workspaces/failures')],
  'SBX-8': walled,
  'SBX-9': walled,
  'SBX-10': every,
  'PROC-1': [...every, ...sandboxes('screen')],
  'PROC-2': [...every, ...sandboxes('journal-kill', 'journal-reading', 'journal-replay', 'journal-follow')],
  'PROC-3': every,
  'FS-1': every,
  'FS-2': every,
  'FS-3': [...every, ...link('archive')],
  'NET-1': [
    'test/egress/walls.test.ts',
    'test/egress/policy.test.ts',
    'test/egress/paths.test.ts',
    'test/egress/operator-deny.test.ts',
    'test/egress/commands.test.ts',
  ],
  'NET-2': ['test/egress/walls.test.ts', 'test/egress/attacks.test.ts', 'test/egress/framing.test.ts'],
  'NET-3': ['test/egress/ask.test.ts', 'test/egress/commands.test.ts'],
  'NET-4': ['test/egress/bindings.test.ts', 'test/egress/framing.test.ts'],
  'NET-5': ['test/egress/secrets.test.ts'],
  'NET-6': ['test/api/previews.test.ts', 'test/egress/commands.test.ts'],
  'NET-7': ['test/egress/commands.test.ts'],
  'MCP-1': [...toolWalls, 'test/mcp/sessions.test.ts > several users', 'test/mcp/killed-host.test.ts'],
  'MCP-2': [...toolWalls, 'test/mcp/session-calls.test.ts'],
  'MCP-3': [...toolWalls, 'test/mcp/killed-host.test.ts'],
  'MCP-4': [
    ...toolWalls,
    ...['session-calls', 'session-reach', 'servers', 'as-served'].map((name) => `test/mcp/${name}.test.ts`),
  ],
  'MCP-5': ['http', 'stdio', 'conformance', 'real-clients', 'as-served'].map(
    (name) => `test/mcp/${name}.test.ts`,
  ),
  'AGT-1': [...agents('claude', 'docker'), 'test/cli/claude-terminal.test.ts'],
  'AGT-2': agents('claude', 'docker', 'codex', 'acp', 'builtin'),
  'AGT-3': agents('claude', 'docker', 'codex', 'acp', 'builtin'),
  'AGT-4': [...agents('claude', 'docker', 'codex', 'acp'), 'test/cli/claude-terminal.test.ts'],
  'AGT-7': ['test/agents/claude.test.ts', 'test/agents/replay.test.ts', 'test/cli/agent-commands.test.ts'],
  'AGT-6': ['test/images/images.test.ts', 'test/images/builds.test.ts > builds on docker'],
  'AGT-5': ['test/agents/acp.test.ts', 'test/agents/codex.test.ts'],
  'SLV-1': solve('solve'),
  'SLV-2': solve('solve'),
  'SLV-3': [...api('solve'), 'test/cli/solve-commands.test.ts', 'test/dashboard/pages.test.ts'],
  'SLV-4': ['test/models/models.test.ts'],
  'CRY-1': solve('crystals'),
  'CRY-2': solve('crystals'),
  'CRY-3': solve('crystals'),
  'CRY-4': [
    ...solve('crystals', 'verify-again', 'solve', 'recall-block'),
    ...api('solve'),
    'test/cli/solve-commands.test.ts',
  ],
  'CRY-5': solve('bench'),
  'GW-1': ['bus', 'postgres-bus', 'chats', 'gateway', 'reliability', 'two-gateways'].map(
    (name) => `test/chat/${name}.test.ts`,
  ),
  'GW-2': ['bus', 'chats', 'sessions'].map((name) => `test/chat/${name}.test.ts`),
  'GW-3': ['chats', 'pairing', 'hostile-input', 'gateway', 'sessions'].map(
    (name) => `test/chat/${name}.test.ts`,
  ),
  'GW-4': ['chats', 'sessions'].map((name) => `test/chat/${name}.test.ts`),
  'GW-5': ['schedules', 'schedules-killed', 'sessions'].map((name) => `test/chat/${name}.test.ts`),
  'CH-1': ['telegram', 'discord', 'slack', 'whatsapp', 'hostile-input'].map(
    (name) => `test/chat/${name}.test.ts`,
  ),
  'CA-1': ['agents-in-sandboxes', 'containerized-gateway'].map((name) => `test/chat/${name}.test.ts`),
  'CA-2': ['test/cli/agent-stdin.test.ts'],
  'CA-3': ['test/cli/agent-stdin.test.ts', 'test/chat/agents-in-sandboxes.test.ts'],
  'CA-4': ['ended-agents', 'agents-in-sandboxes', 'reliability'].map((name) => `test/chat/${name}.test.ts`),
  'CA-5': ['agents-in-gateway', 'agents-in-sandboxes'].map((name) => `test/chat/${name}.test.ts`),
  'MEM-1': memory('sqlite', 'qdrant'),
  'MEM-2': memory('sqlite', 'qdrant'),
  'MEM-3': memory('sqlite', 'qdrant', 'local-embedder', 'remote-embedder'),
  'MEM-4': memory('sqlite', 'qdrant'),
  'MEM-5': memory('sqlite', 'qdrant', 'kill'),
  'MEM-6': [...memory('sqlite', 'qdrant', 'namespaces'), ...api('isolation')],
  'MEM-8': memory('sqlite', 'qdrant'),
  'MEM-9': [...memory('sqlite', 'qdrant'), 'test/solve/solve.test.ts', 'test/cli/memory-commands.test.ts'],
  'CTX-1': api('search', 'defaults'),
  'CTX-2': api('context', 'files'),
  'CTX-3': api('context'),
  'CTX-4': api('context', 'failures', 'search'),
  'UI-1': [
    'test/dashboard/pages.test.ts',
    'test/dashboard/safety.test.ts',
    'test/dashboard/sandboxes.test.ts',
  ],
  'UI-2': [
    'test/dashboard/conversation.test.ts',
    'test/dashboard/details.test.ts',
    'test/dashboard/pages.test.ts',
  ],
  'UI-3': ['test/dashboard/first-use.test.ts'],
  'UI-4': ['test/dashboard/safety.test.ts'],
  'CFG-1': ['test/config/config.test.ts', 'test/cli/cli.test.ts'],
  'CLI-1': [
    'command-table',
    'json',
    'progress',
    'completion',
    'onboard',
    'memory-commands',
    'sandbox-commands',
  ].map((name) => `test/cli/${name}.test.ts`),
  'CLI-2': [
    ...[
      'bubblewrap stops',
      'docker stops',
      'podman stops',
      'oci with runc stops',
      'gVisor stops',
      'native has no walls',
    ].map((words) => `test/cli/attack.test.ts > ${words}`),
    'test/runtimes/ordinary-user.test.ts',
  ],
  'API-1': api(
    'every-route',
    'origin',
    'auth',
    'limits',
    'client',
    'sandboxes',
    'processes',
    'workspace',
    'code',
  ),
  'API-2': ['bubblewrap', 'docker', 'examples'].map((name) => `test/e2b/${name}.test.ts`),
  'API-3': [
    ...['test/host/host.test.ts', 'test/cli/host.test.ts'],
    ...['ledger', 'event-log'].map((name) => `test/ledger/${name}.test.ts`),
  ],
  'DR-3': ['test/doors/openai.test.ts'],
  'DR-5': ['openai', 'open-terminal', 'person'].map((name) => `test/doors/${name}.test.ts`),
  'SEC-2': [...api('isolation', 'every-route'), 'test/host/isolation.test.ts'],
  'SEC-3': ['test/package.test.ts'],
  'PKG-1': ['test/package.test.ts', 'test/guest-toolchain.test.ts', 'test/e2e/start.test.ts'],
  'REL-1': [
    ...sandboxes('crash'),
    ...memory('kill'),
    ...['embedded', 'qdrant'].map((index) => `test/host/kill-loop.test.ts > index ${index}`),
  ],
  'OCI-1': [
    'images of an archive',
    'images of a real registry',
    'a registry that lies',
    'hostile layers',
  ].map((words) => `test/images/store.test.ts > ${words}`),
  'OCI-2': [
    ...['runc', 'gVisor'].flatMap((program) => [
      `test/runtimes/oci.test.ts > runtime oci with ${program}`,
      `test/sandboxes/registry.test.ts > OCI-2 with ${program}`,
    ]),
    ...runtime('bubblewrap'),
  ],
  'OCI-3': [...runtime('oci'), ...sandboxes('checkpoints', 'checkpoint-kills')],
  'OCI-4': [...runtime('oci'), ...sandboxes('checkpoints', 'checkpoint-kills')],
  'OCI-5': [
    ...sandboxes('checkpoints', 'checkpoint-kills'),
    ...['runc', 'gVisor'].map((program) => `test/sandboxes/crash.test.ts > oci with ${program}`),
    'test/images/store.test.ts > a killed host',
  ],
};
