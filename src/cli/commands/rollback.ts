import { type CliCommand, exitCodes } from '../command.ts';
import { version } from '../version.ts';

export const rollbackCommand: CliCommand = {
  name: 'rollback',
  summary: 'Go back to the version before the last upgrade',
  usage: '[--old-state] [--take-over] [--json]',
  examples: [
    ['geode rollback', 'with the state of today, if the old version can read it'],
    ['geode rollback --old-state', 'with the state from before the upgrade'],
  ],
  options: {
    'old-state': { type: 'boolean', description: 'put the state from before the upgrade back in any case' },
    'take-over': { type: 'boolean', description: 'also end a gateway, which you start again' },
  },
  async run(context) {
    const { json, out, signal, machine, values } = context;
    const loaded = await context.loaded();
    const [{ rollBack }, { checkHost, onlyUpgrade, runningNow, startedWith }, { thisVersion }] =
      await Promise.all([
        import('../../host/upgrade/roll-back.ts'),
        import('../../host/upgrade/switching.ts'),
        import('../../host/upgrade/versions.ts'),
      ]);
    const here = thisVersion(version);
    using _turn = onlyUpgrade(loaded.config.sandbox.state_dir);
    checkHost({ loaded, takeOver: values['take-over'] === true });
    const before = await runningNow(here, { loaded, machine });
    const oldState = values['old-state'] === true;
    const rolled = await rollBack({ loaded, machine, here, oldState, takeOver: true, signal });
    const running = await startedWith(rolled.to, before, { loaded, machine });
    if (json) out(JSON.stringify({ ...rolled, to: rolled.to.version, running }));
    else {
      out(`Geode ${rolled.to.version} runs again, with ${running} running sandboxes.`);
      if (rolled.stateOf !== null)
        out(`Its state is from ${rolled.stateOf}; the one of today is in ${rolled.aside}.`);
    }
    return exitCodes.done;
  },
};
