import { join } from 'node:path';
import { LedgerBus } from '../../src/chat/bus/ledger-bus.ts';
import { busChapter } from '../../src/chat/bus/tables.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { busContract } from '../contracts/bus.ts';
import { temporaryFolder } from '../temporary-folder.ts';

busContract('the ledger', async (now) => {
  const opened = new DisposableStack();
  const folder = opened.use(temporaryFolder());
  const open = () =>
    new LedgerBus(opened.use(new Ledger(join(folder.path, 'ledger.db'), [busChapter], 'durable')), now);
  return {
    bus: open(),
    other: async () => open(),
    async [Symbol.asyncDispose]() {
      opened.dispose();
    },
  };
});
