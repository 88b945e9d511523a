import { text as readText } from 'node:stream/consumers';
import type { RemoteCrystalChange } from '../../../client/solve.ts';
import { type CliCommand, type CliContext, exitCodes, text } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { readGiven } from '../../input/read-given.ts';
import { wrongUsage } from '../../input/values.ts';

export const crystalsEditCommand: CliCommand = {
  name: 'crystals edit',
  summary: 'Change the problem, solution or checks of a crystal',
  usage: '[OPTION …] ID',
  examples: [
    ['geode crystals edit --solution better.py 9a1b…', 'its trust starts from zero again'],
    ['geode crystals edit --problem "Twice a number" 9a1b…', 'changes the words that find it'],
    ['geode crystals edit --tests test.py 9a1b…', 'sets the tests for geode crystals verify'],
  ],
  options: {
    problem: { type: 'string', value: 'TEXT', description: 'what it solves' },
    solution: { type: 'string', value: 'FILE', description: 'the program; - reads it from stdin' },
    tests: { type: 'string', value: 'FILE', description: 'a program that fails when the solution is wrong' },
    expect: { type: 'string', value: 'FILE', description: 'what the solution must print' },
  },
  async run(context) {
    const { positionals, json, out, signal } = context;
    const [id, ...more] = positionals;
    if (id === undefined || more.length > 0) throw wrongUsage('geode crystals edit takes one id');
    const change = await changeFrom(context);
    if (Object.keys(change).length === 0)
      throw wrongUsage('Nothing to change: give --problem, --solution, --tests or --expect');
    await using host = await connectHost(context);
    const crystal = await host.client.solves.change(id, change, { signal });
    out(json ? JSON.stringify(crystal) : `edited ${crystal.key}`);
    return exitCodes.done;
  },
};

async function changeFrom({ values, cwd, streams }: CliContext): Promise<RemoteCrystalChange> {
  const read = async (name: string): Promise<string | undefined> => {
    const path = text(values, name);
    if (path === undefined) return undefined;
    if (path === '-') return await readText(streams.stdin);
    return (await readGiven(path, cwd)).toString();
  };
  const problem = text(values, 'problem');
  const [solution, tests, expect] = [await read('solution'), await read('tests'), await read('expect')];
  return {
    ...(problem !== undefined && { problem }),
    ...(solution !== undefined && { solution }),
    ...(tests !== undefined && { tests }),
    ...(expect !== undefined && { expect }),
  };
}
