import { GeodeError } from '../../../core/errors.ts';
import { currentHost, endHost } from '../../../ledger/host-lock.ts';
import { type CliCommand, exitCodes } from '../../command.ts';

export const hostStopCommand: CliCommand = {
  name: 'host stop',
  summary: 'end the host of the sandboxes that a command started; what runs in them goes on',
  usage: '[--json]',
  examples: [['geode host stop', 'the next command starts another; geode status shows whether there is one']],
  options: {},
  async run({ loaded, json, out }) {
    const { state_dir: stateDir } = (await loaded()).config.sandbox;
    const host = currentHost(stateDir);
    if (host !== undefined && host.serves?.as !== 'geode host') {
      const what = host.serves?.as ?? 'a command or a program of its own';
      throw new GeodeError('ledger_held', `The sandboxes are held by process ${host.pid}, ${what}.`, {
        hint: `End it with: kill ${host.pid}`,
        details: { pid: host.pid },
      });
    }
    if (host !== undefined) await endHost(host, stateDir);
    if (json) out(JSON.stringify({ stopped: host?.pid ?? null }));
    else out(host === undefined ? 'No host runs.' : `Process ${host.pid} is no longer the host.`);
    return exitCodes.done;
  },
};
