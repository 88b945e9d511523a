import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';
import { machineSchema } from '../../../contract/server.ts';
import { requireScope } from '../../guards/auth.ts';
import { defineRoute, json, refusals, security } from '../../route.ts';

export const machine = defineRoute(
  {
    method: 'get',
    path: '/api/v1/machine',
    summary: 'How busy the machine is',
    tags: ['server'],
    security,
    middleware: requireScope('sandboxes:read'),
    responses: { 200: json('At this moment.', machineSchema), ...refusals },
  },
  (context) => {
    const [load = 0] = loadavg();
    const memory_bytes = { used: totalmem() - freemem(), total: totalmem() };
    return context.json({ cpus: availableParallelism(), load, memory_bytes }, 200);
  },
);
