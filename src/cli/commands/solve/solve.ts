import { basename } from 'node:path';
import { z } from 'zod';
import { decimal } from '../../../contract/decimal.ts';
import type { SolveRequest } from '../../../seams/solve.ts';
import { type CliCommand, type CliContext, texts } from '../../command.ts';
import { connectHost } from '../../hosting.ts';
import { egressFrom, egressOptions } from '../../input/egress-options.ts';
import { readGiven } from '../../input/read-given.ts';
import { parseValues, wrongUsage } from '../../input/values.ts';
import { showSolve } from '../../render/show-solve.ts';

export const solveCommand: CliCommand = {
  name: 'solve',
  summary: 'Solve a problem by writing and running code',
  usage: '[OPTION …] PROBLEM …',
  examples: [
    ['geode solve --language python --tests test.py write a function that …', 'succeeds when the tests pass'],
    ['geode solve --expect output.txt print the first ten primes', 'succeeds when the output matches'],
    ['geode solve --allow pypi plot …', 'may install packages; the program itself has no network'],
    ['geode solve resume ID', 'resumes an interrupted solve'],
  ],
  options: {
    language: { type: 'string', short: 'l', value: 'NAME', description: 'python, javascript, shell, …' },
    tests: { type: 'string', value: 'FILE', description: 'a program that fails when the solution is wrong' },
    expect: { type: 'string', value: 'FILE', description: 'the output that the solution must print' },
    file: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'PATH',
      description: 'copy a text file next to the code; may be repeated',
    },
    allow: { ...egressOptions.allow, description: 'registries to install packages from: pypi, npm, …' },
    bind: egressOptions.bind,
    judge: { type: 'boolean', description: 'let a model judge results that no test checks' },
    attempts: { type: 'string', short: 'n', value: 'N', description: 'maximum attempts (default 3)' },
    budget: { type: 'string', value: 'DOLLARS', description: 'maximum cost of this problem' },
    model: {
      type: 'string',
      short: 'm',
      value: 'SERVICE/MODEL',
      description: 'use this model instead of the configured one',
    },
    quiet: { type: 'boolean', short: 'q', description: 'print only the solution' },
  },
  async run(context) {
    const request = await requestFrom(context);
    await using host = await connectHost(context);
    return await showSolve(host.client.solves.solve(request, { signal: context.signal }), context);
  },
};

const values = z.object({
  language: z.string().optional(),
  tests: z.string().optional(),
  expect: z.string().optional(),
  judge: z.boolean().optional(),
  attempts: decimal(z.int().min(1).max(10).optional()),
  budget: decimal(z.number().nonnegative().optional()),
  model: z.string().optional(),
});

async function requestFrom(context: CliContext): Promise<SolveRequest> {
  const { tests, expect, ...rest } = parseValues(values, context);
  const problem = context.positionals.join(' ').trim();
  if (problem === '') throw wrongUsage('geode solve needs a problem: describe what the program shall do');
  const read = async (path: string) => (await readGiven(path, context.cwd)).toString();
  const files = texts(context.values, 'file').map(
    async (path) => [basename(path), await read(path)] as const,
  );
  const egress = await egressFrom(context.values);
  return {
    problem,
    ...rest,
    ...(egress && { egress }),
    ...(tests !== undefined && { tests: await read(tests) }),
    ...(expect !== undefined && { expect: await read(expect) }),
    files: Object.fromEntries(await Promise.all(files)),
  };
}
