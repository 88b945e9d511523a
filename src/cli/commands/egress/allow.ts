import { changeEgress, inspectOptions, spanFrom } from '../../change-egress.ts';
import type { CliCommand } from '../../command.ts';
import { hostingOptions } from '../../hosting.ts';

export const egressAllowCommand: CliCommand = {
  name: 'egress allow',
  summary: 'Allow a sandbox to reach a host',
  usage: '[OPTION …] [USER/]CHAT HOST|PRESET …',
  examples: [
    ['geode egress allow demo pypi example.com', 'a registry and a host, on ports 80 and 443'],
    [
      'geode egress allow --for 10m demo "*.example.com:8443"',
      'for ten minutes; then open connections are closed',
    ],
    ['geode egress allow demo 10.0.0.5:11434', 'one private address and port'],
    ['geode egress allow demo "GET http://example.com/api/*"', 'plain HTTP, by method and path'],
    [
      'geode egress allow --inspect --method GET --path "/v1/*" demo api.example.com',
      'HTTPS by method and path; the host decrypts the TLS',
    ],
  ],
  options: {
    ...hostingOptions,
    ...inspectOptions,
    for: { type: 'string', value: 'TIME', description: 'how long: 90s, 30m, 2h, 1d (default: permanently)' },
  },
  run: async (context) => {
    const forMs = spanFrom(context);
    const { signal } = context;
    const options = { ...(forMs !== undefined && { forMs }), signal };
    return changeEgress(context, (egress, words) => egress.allow(words, options));
  },
};
