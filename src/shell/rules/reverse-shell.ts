import { given, readOptions } from '../options.ts';
import type { Call } from '../programs/call.ts';
import type { Rule } from './rule.ts';

const netcats = ['nc', 'ncat', 'netcat', 'nc.traditional', 'nc.openbsd'];
const connectors = [...netcats, 'telnet', 'openssl', 'socat'];

/** Giving a shell to whoever is at the other end of a connection. */
export const reverseShell: Rule = {
  name: 'reverse-shell',
  programs: [...connectors, 'ztcp', 'xterm'],
  check: (call) => {
    if (netcats.includes(call.name) && runsProgram(call)) return 'It would connect a program to the network.';
    if (
      call.name === 'socat' &&
      call.args.some((address) => /^(?:exec|system|shell)(?:-\w+)?:/i.test(address.text))
    ) {
      return 'It would connect a program to the network.';
    }
    if (call.name === 'xterm' && call.args.some((argument) => /^-display$/.test(argument.text))) {
      return 'It would open a terminal on another machine.';
    }
    if (
      connectors.includes(call.name) &&
      call.frame.inspection.unknowns.originOf(call.frame.stdin) === 'shell'
    ) {
      return 'It would send the output of a shell to the network.';
    }
    return undefined;
  },
};

function runsProgram({ args }: Call): boolean {
  const options = readOptions(args, {
    short: 'ecgGiIoOpPqsTVwWxXmMd',
    long: ['exec', 'sh-exec', 'lua-exec', 'source', 'wait', 'delay', 'idle-timeout', 'proxy', 'output'],
  });
  return ['e', 'c', 'exec', 'sh-exec', 'lua-exec'].some((name) =>
    given(options, name.length === 1 ? name : '', name.length === 1 ? undefined : name),
  );
}
