import { given, readOptions } from '../options.ts';
import type { Rule } from './rule.ts';

const netcats = new Set(['nc', 'ncat', 'netcat', 'nc.traditional', 'nc.openbsd']);

/** Connecting a shell or another program to the network. */
export const reverseShell: Rule = {
  name: 'reverse-shell',
  check: ({ name, args, frame }) => {
    const isNetcat = netcats.has(name);
    if (isNetcat || /^(?:telnet|openssl|socat)$/.test(name)) {
      if (frame.input.source === 'shell') return 'It would send the output of a shell to the network.';
    }
    const options = isNetcat ? readOptions(args, { short: 'egGiIoOpPqsTVwWxXmMd' }) : undefined;
    const runsProgram =
      options !== undefined && (given(options, 'ec', 'exec') || given(options, '', 'sh-exec'));
    if (
      runsProgram ||
      (name === 'socat' && args.some(({ text }) => /^(?:exec|system|shell)(?:-\w+)?:/i.test(text)))
    ) {
      return 'It would connect a program to the network.';
    }
    const opensDisplay = name === 'xterm' && args.some(({ text }) => text === '-display');
    return opensDisplay ? 'It would open a terminal on another machine.' : undefined;
  },
};
