/** The addresses of all pages of a host with the sandbox and chat `demo`, the notebook, run and process given. */
export interface Known {
  readonly sandbox: string;
  readonly notebook?: string | undefined;
  readonly run?: string | undefined;
  readonly process?: string | undefined;
  readonly file?: string | undefined;
}

export function everyPage({ sandbox, notebook, run, process, file }: Known): readonly string[] {
  const given = (path: string, item: string | undefined) => (item === undefined ? [] : [`${path}/${item}`]);
  return [
    '',
    'inbox',
    'chat',
    `chat/${sandbox}`,
    ...['files', 'terminal', 'processes', 'previews', 'egress', 'cost'].map(
      (part) => `chat/${sandbox}/${part}`,
    ),
    `wide/chat/${sandbox}/files`,
    'sandboxes',
    `sandboxes/${sandbox}`,
    `sandboxes/${sandbox}/files`,
    ...given(`sandboxes/${sandbox}/files`, file),
    `sandboxes/${sandbox}/terminal`,
    `sandboxes/${sandbox}/processes`,
    ...given(`sandboxes/${sandbox}/processes`, process),
    ...['previews', 'egress', 'timeline', 'log'].map((part) => `sandboxes/${sandbox}/${part}`),
    'code/runs',
    ...given('code/runs', run),
    'code/notebooks',
    ...given('code/notebooks', notebook),
    'knowledge/memory',
    'knowledge/crystals',
    'knowledge/solves',
    ...[
      'health',
      'models',
      'keys',
      'users',
      'secrets',
      'channels',
      'images',
      'egress',
      'schedules',
      'webhooks',
      'backups',
      'about',
    ].map((part) => `settings/${part}`),
    'settings/about/components',
  ];
}
