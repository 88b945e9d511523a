import { describe, expect, it } from 'vitest';
import { chatNamespace } from '../../../src/seams/chat-memory.ts';
import type { Finding } from '../../../src/seams/memory.ts';
import { entry, type MemoryScene } from './scene.ts';

const days = 24 * 3_600_000;

export function auditContract(scene: () => MemoryScene): void {
  describe('audit', () => {
    it('finds planted secrets, contradictions, duplicates and stale entries, and nothing else (MEM-9)', async () => {
      const { memory, store, clock, secrets } = scene();
      await memory.storeMany(innocent.map((text, index) => entry(text, { key: `fine/${index}` })));
      const soon = new Date(clock.now + days);
      await memory.storeMany([
        entry('The API listens on port 8080.', { key: 'port/old' }),
        entry('Feature flags are enabled in staging.', { key: 'flags/old' }),
        entry('Deploys run from the release branch.', { key: 'deploy/old' }),
        entry('The importer retries failed rows.', { key: 'retry/old' }),
        entry('Rotate the log files of the gateway every night.', { key: 'logs/one' }),
        entry('The office printer is on the second floor until Monday.', {
          key: 'printer',
          validUntil: soon,
        }),
        entry('The vendor portal wants blue-whale-77 as the passphrase.', { key: 'vendor' }),
      ]);
      clock.now += 2 * days;
      secrets.push('blue-whale-77');
      await memory.storeMany([
        entry('The API now listens on port 9090.', { key: 'port/new' }),
        entry('Feature flags are disabled in staging.', { key: 'flags/new' }),
        entry('Deploys run from the main branch.', { key: 'deploy/new' }),
        entry('The importer never retries failed rows.', { key: 'retry/new' }),
        entry('Every night, rotate the log files of the gateway.', { key: 'logs/two' }),
      ]);
      await store.settled();
      const before = await memory.list({ limit: 100 });
      const { findings, checked } = await memory.audit();
      expect(checked).toBe(innocent.length + 12);
      expect(findings.map(({ kind, keys }) => [kind, ...keys]).sort()).toEqual(
        [
          ['contradiction', 'deploy/old', 'deploy/new'],
          ['contradiction', 'flags/old', 'flags/new'],
          ['contradiction', 'port/old', 'port/new'],
          ['contradiction', 'retry/old', 'retry/new'],
          ['duplicate', 'logs/two', 'logs/one'],
          ['secret', 'vendor'],
          ['stale', 'printer'],
        ].sort(),
      );
      expect(JSON.stringify(findings)).not.toContain('blue-whale-77');
      expect(of(findings, 'port/old').evidence).toContain('one says 8080, the other 9090');
      expect(of(findings, 'logs/two').mend).toBe('geode memory rm --user alice logs/two');
      expect(await memory.list({ limit: 100 })).toEqual(before);
    });

    it('reports each of many equal entries once, and quotes keys for a shell (MEM-9)', async () => {
      const { memory } = scene();
      const text = 'Release notes are written by the person on call.';
      await memory.storeMany(['a', 'b', 'c', "it's $(here)"].map((key) => entry(text, { key })));
      const { findings } = await memory.audit();
      expect(findings).toHaveLength(3);
      expect(findings.map(({ mend }) => mend)).toContain("geode memory rm --user alice 'it'\\''s $(here)'");
    });

    it('names the chat in the command for an entry of a chat, and quotes a key like an option (MEM-9)', async () => {
      const { store } = scene();
      const memory = store.in(chatNamespace('local', 'my talk'));
      const text = 'Release notes are written by the person on call.';
      await memory.storeMany(['--all', 'b'].map((key) => entry(text, { key })));
      await memory.storeMany([entry(text, { key: 'b' })]);
      const { findings } = await memory.audit();
      expect(findings.map(({ mend }) => mend)).toEqual(["geode memory rm --chat='my talk' -- --all"]);
    });

    it('finds entries that no search returned for a month, and counts the returned ones (MEM-9)', async () => {
      const { memory, clock } = scene();
      await memory.store(entry('The canary server is called finch.', { key: 'finch' }));
      await memory.store(entry('Invoices are archived in the cold store.', { key: 'invoices' }));
      clock.now += 29 * days;
      expect((await memory.audit()).findings).toEqual([]);
      await memory.recall({ text: 'finch', limit: 1, fusion: { kind: 'weighted', dense: 0 } });
      clock.now += 2 * days;
      const { findings } = await memory.audit();
      expect(findings.map(({ kind, keys }) => [kind, ...keys])).toEqual([['never-recalled', 'invoices']]);
      expect((await memory.get('finch'))?.uses).toMatchObject({ recalled: 1, helped: 0, hurt: 0 });
    });

    it('keeps the counts after a close, and removes them with the entry (MEM-9)', async () => {
      const first = scene();
      await first.memory.store(entry('The canary server is called finch.', { key: 'finch' }));
      await first.memory.recall({ text: 'canary server' });
      await first.store.stop();
      await using again = first.reopen();
      expect((await again.memory.get('finch'))?.uses.recalled).toBe(1);
      await again.memory.forget('finch');
      await again.memory.store(entry('The canary server is called finch.', { key: 'finch' }));
      expect((await again.memory.get('finch'))?.uses.recalled).toBe(0);
    });

    it('ranks an entry lower that hurt more attempts than it helped, and explains the rank (MEM-9)', async () => {
      const { memory, store } = scene();
      await memory.store(entry('To parse the feed, call parseFeed with strict mode.', { key: 'bad' }));
      await memory.store(entry('To parse the feed, call readFeed and then parse.', { key: 'good' }));
      await store.settled();
      const asked = { text: 'how do I parse the feed strict' };
      expect((await memory.recall(asked)).results[0]?.entry.key).toBe('bad');
      for (let time = 0; time < 6; time += 1) await memory.noteOutcome(['bad', 'unknown'], 'hurt');
      await memory.noteOutcome(['bad'], 'helped');
      const { results } = await memory.recall(asked);
      expect(results.map(({ entry: found }) => found.key)).toEqual(['good', 'bad']);
      expect(results[1]?.why.trust).toBe(0.5);
      expect(results[1]?.why.summary).toContain('it hurt 6 of 7 attempts');
      expect(results[1]?.entry.uses).toMatchObject({ helped: 1, hurt: 6 });
    });

    it('compares entries by words when the model fails (MEM-9)', async () => {
      const { memory, embedder } = scene();
      embedder.down = 'no model today';
      await memory.store(entry('The API listens on port 8080.', { key: 'old' }));
      await memory.store(entry('The API listens on port 9090.', { key: 'new' }));
      const { findings, compared } = await memory.audit();
      expect(compared).toBe('words');
      expect(findings).toMatchObject([{ kind: 'contradiction', keys: ['old', 'new'] }]);
    });
  });
}

/** True together, although they share words, numbers and negations. */
const innocent = [
  'Build 1234 took 5 minutes on the small runner.',
  'Build 1235 took 9 minutes on the small runner.',
  'The staging server runs Debian 12.',
  'The production server runs Debian 13.',
  'Alice likes tea in the morning.',
  'Bob likes tea in the morning.',
  'Backups are stored in the vault.',
  'Invoices are never sent on Sundays.',
  'The search service keeps its index on the fast disk.',
  'The mail service keeps its queue in PostgreSQL.',
  'Tests need a database called geode_test.',
  'Ask the platform team before changing the firewall.',
];

function of(findings: readonly Finding[], key: string): Finding {
  const found = findings.find(({ keys }) => keys[0] === key);
  if (found === undefined) throw new Error(`nothing was found about ${key}`);
  return found;
}
