import { describe, expect, it } from 'vitest';
import { createLog, terminalLine } from '../../src/api/log.ts';
import { GeodeError } from '../../src/base/errors.ts';

function logged(work: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  work(createLog('info', (line) => lines.push(line)));
  expect(lines).toHaveLength(1);
  return lines[0] ?? '';
}

describe('the log', () => {
  const request = { method: 'POST', path: '/api/v1/runs', status: 502, ms: 9, user: 'local', key: 'socket' };
  const refusal = new GeodeError('pull_failed', 'The image x:1 could not be pulled: no such host', {
    cause: new Error('connect ECONNREFUSED'),
  });

  it('API-1: logs no stack for an error that explains itself', () => {
    const line = logged((log) => log.error({ ...request, err: refusal }, 'request'));
    expect(JSON.parse(line)).toMatchObject({ err: { code: 'pull_failed', message: refusal.message } });
    expect(line).not.toContain('    at ');
  });

  it('API-1: keeps the stack and the causes of a failure inside', () => {
    const broken = new TypeError('x is not a function', { cause: new Error('the cause') });
    const line = logged((log) => log.error({ err: broken }, 'failed'));
    expect(JSON.parse(line).err.stack).toContain('log.test.ts');
    expect(line).toContain('the cause');
  });

  it('API-1: prints one plain line for each request at a terminal', () => {
    const line = logged((log) => log.error({ ...request, err: refusal }, 'request'));
    expect(terminalLine(line)).toMatch(
      /^\d\d:\d\d:\d\d error POST \/api\/v1\/runs 502: The image x:1 could not be pulled: no such host \(pull_failed\)\n$/,
    );
    const hostile = logged((log) =>
      log.warn({ path: '/\u001b[2J\n', method: 'GET', status: 500 }, 'request'),
    );
    expect(terminalLine(hostile)).toMatch(/^\S+ warn GET \/ \[2J +500\n$/);
    const told = logged((log) => log.info({ err: refusal }, `It failed: ${refusal.message}`));
    expect(terminalLine(told)).toMatch(
      /^\S+ info It failed: The image x:1 .* no such host \(pull_failed\)\n$/,
    );
  });
});
