import { localUser } from '../../base/identity.ts';
import type { MachineCheck } from '../../seams/doctor.ts';
import { grades } from '../../seams/sandbox.ts';
import { asTyped } from '../as-typed.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { askRunningHost } from '../connect/running-api.ts';
import { wrongUsage } from '../input/values.ts';
import { checkLines } from '../render/check-lines.ts';

export const doctorCommand: CliCommand = {
  name: 'doctor',
  summary: 'Check this machine and show how to fix problems',
  usage: '[--attack [--runtime NAME]] [--json]',
  examples: [
    ['geode doctor', 'all checks; exit code 1 if one failed'],
    ['geode doctor --attack', 'real attacks on a sandbox, and what stopped each'],
    ['geode doctor --attack --runtime native', 'shows which attacks succeed without isolation'],
  ],
  options: {
    attack: { type: 'boolean', description: 'attack a live sandbox of each runtime; harmless outside it' },
    runtime: { type: 'string', value: 'NAME', description: 'with --attack: only this runtime' },
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
    else for (const line of [...checkLines(checks), verdictOf(checks)]) out(asTyped(line, context.machine));
    return checks.some(({ state }) => state === 'problem') ? exitCodes.failed : exitCodes.done;
  },
};

function verdictOf(checks: readonly MachineCheck[]): string {
  const problems = checks.filter(({ state }) => state === 'problem').map(({ name }) => name);
  if (problems.length > 0) return `Not ready: fix ${problems.join(', ')}.`;
  const strongest = grades.findLast((grade) => checks.some((check) => check.grade === grade));
  return strongest === undefined ? 'Ready.' : `Ready. Strongest isolation here: ${strongest}.`;
}

/** The checks of the running host, because its rights count for sandboxes; without a host, those of this process. */
async function checksOf(context: CliContext): Promise<readonly MachineCheck[]> {
  const { signal } = context;
  const asked = await askRunningHost(context, localUser, (client) => client.doctor({ signal }), 'anything');
  if (asked !== undefined)
    return [{ name: 'host', state: 'ok', found: 'running; it made the other checks' }, ...asked.answer];
  const found = 'not running; commands start it when they need it';
  return [{ name: 'host', state: 'ok', found }, ...(await (await context.geode()).doctor({ signal }))];
}
