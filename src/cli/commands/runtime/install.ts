import { type CliCommand, exitCodes } from '../../command.ts';
import { chosen, onePositional } from '../../input/values.ts';

export const runtimeInstallCommand: CliCommand = {
  name: 'runtime install',
  summary: 'Build gVisor, so that sandboxes get a kernel of their own',
  usage: '[--json] gvisor',
  examples: [
    ['geode runtime install gvisor', "builds `runsc` with Go into Geode's state folder; takes some minutes"],
  ],
  options: {},
  async run(context) {
    const { json, out, err, machine, signal } = context;
    chosen(onePositional(context, 'NAME, which is gvisor'), ['gvisor'], 'a runtime that can be installed');
    const { config } = await context.loaded();
    const { checkState } = await import('../../../host/state/tables.ts');
    checkState(config);
    const { installGvisor, installFolder } = await import('../../../host/install-gvisor.ts');
    const installed = await installGvisor({
      folder: installFolder(config),
      path: machine.path,
      variable: machine.variable,
      onStep: (step) => json || err(`${step} …`),
      signal,
    });
    if (json) out(JSON.stringify(installed));
    else {
      out(`gVisor is installed: ${installed.program}`);
      out('Sandboxes of the oci runtime now have the grade kernel. See: geode doctor');
    }
    return exitCodes.done;
  },
};
