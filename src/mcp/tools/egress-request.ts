import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { isAllowed } from '../../seams/approval.ts';
import type { SessionCall } from '../sessions/session-call.ts';
import { defineTool } from '../tool.ts';

/** How long `allow-once` lasts here: the uses of a connection cannot be counted. */
const onceMs = 10 * 60_000;

const input = z.strictObject({
  host: z
    .string()
    .max(300)
    .regex(/^(\*\.)?[a-z0-9][a-z0-9.-]*(:\d{1,5})?$/i, 'is not a host name with an optional port')
    .describe('The host to reach: example.com, *.example.com, or example.com:8443.'),
  reason: z.string().min(1).max(2_000).describe('Shown to the person who decides.'),
});

export const egressRequest = defineTool<typeof input, SessionCall>({
  name: 'egress_request',
  title: 'Ask for access to a host',
  description:
    'Asks the user to allow this sandbox access to a host, and waits for the decision. It takes effect at once. Private addresses cannot be requested.',
  effect: 'changes',
  waitsFor: 'person',
  input,
  async run({ host, reason }, { approvals, session, client, signal, waitMs }) {
    const { user, chat, sandboxId } = session;
    const approval = await approvals.ask(
      {
        user,
        chat,
        sandbox: sandboxId,
        kind: 'egress',
        title: `Allow the sandbox to reach ${host}`,
        detail: reason,
        key: `egress_request ${host}`,
        waitMs,
      },
      { signal },
    );
    if (!isAllowed(approval))
      throw new GeodeError('forbidden', `Access to ${host} was denied.`, {
        hint: 'Continue without it, or ask the user in other words.',
      });
    const forMs =
      approval.decision === 'allow-once'
        ? onceMs
        : approval.until === null
          ? undefined
          : Math.max(1, approval.until - Date.now());
    await client.sandboxes.of(chat).egress.allow([host], { ...(forMs !== undefined && { forMs }), signal });
    return { allowed: true, host, for_seconds: forMs === undefined ? null : Math.round(forMs / 1000) };
  },
});
