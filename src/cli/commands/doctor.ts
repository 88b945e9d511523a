import type { MachineCheck } from '../../core/doctor.ts';
import { localUser } from '../../core/identity.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { askRunningHost } from '../connect/running-api.ts';
import { wrongUsage } from '../input/values.ts';

export const doctorCommand: CliCommand = {
  name: 'doctor',
  summary:
    'check this machine and say how to fix what is missing; with --attack, try to break out of sandboxes',
  usage: '[--attack [--runtime NAME]] [--json]',
  examples: [
    ['geode doctor', 'each check with its result; exit code 1 when something stands in the way'],
    ['geode doctor --attack', 'real attempts to break out, exhaust and phone home, and what stopped each'],
    ['geode doctor --attack --runtime native', 'what gets through where there are no walls'],
  ],
  options: {
    attack: { type: 'boolean', description: 'attack a live sandbox of each runtime; does no harm outside' },
    runtime: { type: 'string', value: 'NAME', description: 'with --attack: this runtime only' },
  },
  async run(context) {
    const { json, out, values } = context;
    if (values.attack === true) {
      const { attackRuntimes } = await import('../attack/attack-runtimes.ts');
      return attackRuntimes(context);
    }
    if (values.runtime !== undefined) throw wrongUsage('--runtime goes with --attack');
    const checks = await checksOf(context);
    if (json) out(JSON.stringify(checks, null, 2));
    else
      for (const { name, state, found, fix } of checks)
        out(`${mark[state]} ${name}: ${found}${fix === undefined ? '' : `\n    ${fix}`}`);
    return checks.some(({ state }) => state === 'problem') ? exitCodes.failed : exitCodes.done;
  },
};

const mark = { ok: '✓', warning: '!', problem: '✗' } as const;

/** By the host that runs, with what it finds and may do, which is what counts for sandboxes; else from here. */
async function checksOf(context: CliContext): Promise<readonly MachineCheck[]> {
  const { signal } = context;
  const asked = await askRunningHost(context, localUser, (client) => client.doctor({ signal }), 'anything');
  if (asked !== undefined)
    return [{ name: 'host', state: 'ok', found: 'answers; it checked the rest' }, ...asked.answer];
  const { config } = await context.loaded();
  const { checkMachine } = await import('../../host/doctor.ts');
  const found = 'none runs; a command that needs one starts it';
  return [
    { name: 'host', state: 'ok', found },
    ...(await checkMachine(config, await context.app(), { signal })),
  ];
}
