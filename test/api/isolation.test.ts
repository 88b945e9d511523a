import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryLimits } from '../../src/seams/memory.ts';
import { callerWith, startTestServer } from './server-fixture.ts';

const context = '/api/v1/context';
const users = ['alice', 'bob', 'alice.b', 'a@lice'] as const;
// Few ids and words, so that users often mean the same one.
const ids = ['a', 'a/b', 'alice', 'bob:a', "x' OR '1'='1"] as const;
const words = ['deploy', 'secret', 'branch', 'NameError', 'a'] as const;
const categories = ['core', 'project', 'own'] as const;

const step = fc.oneof(
  fc.record({
    do: fc.constant('put' as const),
    id: fc.constantFrom(...ids),
    word: fc.constantFrom(...words),
    category: fc.constantFrom(...categories),
  }),
  fc.record({
    do: fc.constant('add' as const),
    word: fc.constantFrom(...words),
    category: fc.constantFrom(...categories),
  }),
  fc.record({ do: fc.constant('remove' as const), id: fc.constantFrom(...ids) }),
  fc.record({ do: fc.constant('supersede' as const), id: fc.constantFrom(...ids) }),
);
const steps = fc.array(fc.tuple(fc.constantFrom(...users), step), { maxLength: 20 });

test('SEC-2, MEM-6: no key reads, lists, counts, finds or disturbs what another user stored', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await using server = await startTestServer();
      const callers = new Map(users.map((user) => [user, callerWith(server.url, server.key(user))]));
      const counts = new Map(users.map((user) => [user, 0]));
      for (const [user, { do: action, ...facts }] of taken) {
        const call = callers.get(user);
        if (!call) continue;
        await takeStep(call, user, action, facts);
        const listed = await server.memory.in(user).list();
        counts.set(user, listed.total);
        // Only the one who acted may see a change.
        for (const other of users)
          expect((await server.memory.in(other).list()).total).toBe(counts.get(other));
      }
      for (const [user, call] of callers) {
        const paths = [
          `${context}?limit=${memoryLimits.resultsPerPage}`,
          ...ids.map((id) => `${context}/${encodeURIComponent(id)}?versions=true`),
          ...[...words, ...users].map((word) => `${context}/search?q=${word}&limit=100`),
          ...users.map((other) => `${context}?source=${encodeURIComponent(other)}`),
        ];
        for (const path of paths) {
          const { text } = await call(path);
          for (const other of users) if (other !== user) expect(text).not.toContain(markOf(other));
        }
        expect((await call(`${context}/categories`)).body).toMatchObject({ total: counts.get(user) });
      }
    }),
    { numRuns: 15 },
  );
});

type Call = ReturnType<typeof callerWith>;
interface StepFacts {
  readonly id?: string;
  readonly word?: string;
  readonly category?: string;
}

async function takeStep(
  call: Call,
  user: string,
  action: string,
  { id = '', word = '', category }: StepFacts,
): Promise<void> {
  const path = `${context}/${encodeURIComponent(id)}`;
  const entry = { content: `${word} ${markOf(user)}`, category, source: user, tags: [word] };
  if (action === 'put') await call(path, { method: 'PUT', json: entry });
  if (action === 'add') await call(`${context}/ingest`, { json: entry });
  if (action === 'remove') await call(path, { method: 'DELETE' });
  if (action === 'supersede')
    await call(`${context}/ingest`, {
      json: { ...entry, content: `new ${markOf(user)}`, category: 'core', tags: [], supersedes: [id] },
    });
}

/** Text that only this user's entries contain. */
function markOf(user: string): string {
  return `mark-of-${Buffer.from(user).toString('hex')}-end`;
}
