import { categoriesSchema } from '../../../contract/context.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export const categories = defineRoute(
  {
    method: 'get',
    path: '/api/v1/context/categories',
    summary: 'Count the entries of each category',
    tags: ['context'],
    security,
    middleware: requireScope('memory:read'),
    responses: { 200: json('The built-in categories and those in use.', categoriesSchema), ...refusals },
  },
  async (context) => {
    const counts = await context.var.memory.count();
    const found = [...counts].map(([name, count]) => ({ name, count }));
    return context.json({ categories: found, total: found.reduce((sum, { count }) => sum + count, 0) }, 200);
  },
);
