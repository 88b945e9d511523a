import type { Approval } from '../../../seams/approval.ts';
import type { CliCommand } from '../../command.ts';
import { visible } from '../../render/printable.ts';
import { decisionText, shownApproval } from '../../render/show-approval.ts';
import { untilInterrupt } from '../../until-interrupt.ts';
import { forUserOption, userClient } from '../../user-client.ts';

/** A host that ends is waited for: the next command may start another. */
const patienceMs = 24 * 3_600_000;

export const approvalsWatchCommand: CliCommand = {
  name: 'approvals watch',
  summary: 'Show new requests until Ctrl-C',
  usage: '[OPTION …]',
  examples: [['geode approvals watch', 'decide in another terminal with geode approvals allow']],
  options: forUserOption,
  async run(context) {
    const { signal, json, out } = context;
    const show = (approval: Approval) => {
      if (json) out(JSON.stringify(approval));
      else if (approval.state === 'open') for (const line of shownApproval(approval)) out(line);
      else out(visible(`${approval.id}  ${decisionText(approval)}`));
    };
    return await untilInterrupt(signal, async () => {
      for await (const approval of userClient(context).approvals.watch({ signal, patienceMs }))
        show(approval);
    });
  },
};
