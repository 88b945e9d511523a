import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentChapter } from '../../src/agents/agent-chapter.ts';
import { ConversationTable } from '../../src/agents/conversation-table.ts';
import type { AgentDriver } from '../../src/agents/driver.ts';
import { forkConversation } from '../../src/agents/fork-conversation.ts';
import { recordingFormat, type TurnRecording } from '../../src/agents/transcript.ts';
import { TurnTable } from '../../src/agents/turn-table.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import type { UserSandboxes } from '../../src/seams/persistent.ts';
import { temporaryFolder } from '../temporary-folder.ts';

it('a copy up to a turn that ended without a record is refused: the state of today is that of later turns', async () => {
  using folder = temporaryFolder();
  using ledger = new Ledger(join(folder.path, 'ledger.db'), [agentChapter]);
  const conversations = new ConversationTable(ledger);
  const turns = new TurnTable(ledger);
  const source = conversations.begin('ann', 'chat', 'claude', null);
  const states: unknown[] = [];
  const begin = (snapshot: string) =>
    turns.beginTurn(source, { message: 'hello', mark: null, attachments: [], unattended: false, snapshot })
      .row;
  const record = (state: unknown): TurnRecording => ({
    ...{ format: recordingFormat, before: null, after: null, model: null, attachments: [], state },
    ...{ calls: 0, isPartial: false, missed: [] },
  });
  const [recorded, unrecorded] = [begin('p1'), begin('p2')];
  turns.endTurn(recorded, [], 100, 'after the first', record('before the first'));
  turns.endTurn(unrecorded, [], 100, 'after the second');
  const last = begin('p3');
  turns.endTurn(last, [], 100, 'after the third', record('before the third'));
  const parts = {
    ...{ ledger, conversations },
    driver: { forked: (state: unknown) => states.push(state) } as unknown as AgentDriver,
    // Only the conversation matters here.
    sandboxes: { fork: async () => {}, remove: async () => {} } as unknown as UserSandboxes,
  };
  const fork = (to: string, before: string) =>
    forkConversation(parts, { source, to, before, signal: undefined });
  await expect(fork('second', unrecorded.id)).rejects.toMatchObject({ code: 'snapshot_not_found' });
  expect(conversations.find('ann', 'second')).toBeUndefined();
  await fork('third', last.id);
  expect(states).toEqual(['before the third']);
});
