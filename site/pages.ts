/** The pages of the site in their order. Pages of `docs/` that are in none come last. */
export interface Section {
  readonly title: string;
  readonly pages: readonly string[];
}

export const sections: readonly Section[] = [
  { title: 'Start', pages: ['index.md', 'start.md', 'install.md'] },
  {
    title: 'Guides',
    pages: [
      'guides/untrusted-code.md',
      'guides/telegram.md',
      'guides/claude-overnight.md',
      'guides/team.md',
      'guides/proxy.md',
      'doors/e2b.md',
      'doors/openai.md',
      'doors/open-webui.md',
      'mcp.md',
      'SKILL.md',
    ],
  },
  {
    title: 'Concepts',
    pages: [
      'runtimes.md',
      'sandboxes.md',
      'workspaces.md',
      'checkpoints.md',
      'runs.md',
      'contexts.md',
      'journals.md',
      'egress.md',
      'approvals.md',
      'webhooks.md',
      'agents.md',
      'replay.md',
      'gateway.md',
      'memory.md',
      'solve.md',
      'models.md',
      'images.md',
      'dashboard.md',
    ],
  },
  {
    title: 'Reference',
    pages: ['commands.md', 'configuration.md', 'http-api.md', 'errors.md', 'protocol.md'],
  },
  {
    title: 'Operate',
    pages: [
      'host.md',
      'container.md',
      'operate.md',
      'backup.md',
      'upgrade.md',
      'SECURITY.md',
      'troubleshooting.md',
      'performance.md',
      'reliability.md',
    ],
  },
  { title: 'Compare', pages: ['compare.md'] },
  { title: 'Project', pages: ['ARCHITECTURE.md', 'decisions/index.md', 'CONTRIBUTING.md', 'CHANGELOG.md'] },
];

/** Files at the root of the clone that are pages of the site. */
export const rootPages: readonly string[] = [
  'SECURITY.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
];
