/** Solving by trying. */
import { z } from 'zod';
import { GeodeError } from '../../base/errors.ts';
import { defineTool } from '../tool.ts';

export const solve = defineTool({
  name: 'solve',
  title: 'Solve by trying',
  description:
    'Lets a model write code for a problem, runs and checks it in sandboxes, and retries with what it learned. Needs a configured provider and costs money; the answer includes the cost.',
  effect: 'changes',
  input: z.strictObject({
    problem: z.string().min(1).max(100_000),
    language: z.string().optional(),
    tests: z
      .string()
      .optional()
      .describe('A program in the same language that fails if the solution is wrong.'),
    expect: z.string().optional().describe('The output that the solution must print.'),
    attempts: z.int().min(1).max(10).optional(),
    budget: z.number().positive().optional().describe('US dollars.'),
  }),
  async run(request, { client, signal, progress }) {
    for await (const event of client.solves.solve(request, { signal })) {
      progress(event.type);
      if (event.type !== 'result') continue;
      const { type: _, ...result } = event;
      return result;
    }
    throw new GeodeError('internal', 'The solve ended without a result');
  },
});
