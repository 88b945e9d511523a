import { GeodeError } from '../../../base/errors.ts';
import { currentHost, endHost } from '../../../machine/host-lock.ts';
import { type CliCommand, exitCodes } from '../../command.ts';

export const hostStopCommand: CliCommand = {
  name: 'host stop',
  summary: 'Stop the background host; keep sandboxes running',
  usage: '[--json]',
  examples: [['geode host stop', 'the next command that needs a host starts one']],
  options: {},
  async run({ loaded, json, out }) {
    const { state_dir: stateDir } = (await loaded()).config.sandbox;
    const host = currentHost(stateDir);
    if (host !== undefined && host.serves?.as !== 'geode host') {
      const what = host.serves?.as ?? 'a command or another program';
      throw new GeodeError('ledger_held', `Another host is running (pid ${host.pid}): ${what}.`, {
        hint: `Stop it: kill ${host.pid}`,
        details: { pid: host.pid },
      });
    }
    if (host !== undefined) await endHost(host, stateDir);
    if (json) out(JSON.stringify({ stopped: host?.pid ?? null }));
    else out(host === undefined ? 'No host is running.' : `Stopped the host (pid ${host.pid}).`);
    return exitCodes.done;
  },
};
