import { useQuery } from '@tanstack/react-query';
import { Ellipsis } from 'lucide-react';
import { useState } from 'react';
import { client } from '../api.ts';
import { ChangesSince } from '../sandbox/changes-since.tsx';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Modal } from '../ui/modal.tsx';
import { Problem } from '../ui/problem.tsx';
import { exportChat } from './export-chat.ts';
import { ForkChat } from './fork-chat.tsx';

type Open = 'menu' | 'fork' | 'undo' | undefined;

/** The less frequent acts of a chat. */
export function ChatMenu({ chat }: { readonly chat: string }) {
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <>
      <button
        type="button"
        className="icon-button"
        aria-label={text.chat.actions}
        aria-haspopup="dialog"
        onClick={() => setOpen('menu')}
      >
        <Ellipsis aria-hidden size={16} strokeWidth={1.75} />
      </button>
      {open === 'menu' && (
        <Modal title={text.chat.actions} onClose={close}>
          <div className="flex flex-col gap-2">
            <button type="button" className="button" onClick={() => setOpen('undo')}>
              {text.chat.undo}
            </button>
            <button type="button" className="button" onClick={() => setOpen('fork')}>
              {text.chat.fork}
            </button>
            <ActionButton act={() => exportChat(chat)}>{text.chat.export}</ActionButton>
            <ActionButton
              kind="button-bad"
              ask={text.chat.removeAsk}
              act={async () => {
                await client.agents.stop(chat);
                close();
              }}
            >
              {text.chat.remove}
            </ActionButton>
          </div>
        </Modal>
      )}
      {open === 'fork' && <ForkChat chat={chat} onClose={close} />}
      {open === 'undo' && <Undo chat={chat} onClose={close} />}
    </>
  );
}

interface Shown {
  readonly chat: string;
  readonly onClose: () => void;
}

/** The files that the newest undo point would change, for a look before it does. */
function Undo({ chat, onClose }: Shown) {
  const list = useQuery({
    queryKey: ['sandbox', chat, 'snapshots'],
    queryFn: () => client.sandboxes.of(chat).snapshots.list(),
    staleTime: 0,
  });
  const point = list.data?.snapshots.findLast(({ kind }) => kind === 'undo');
  return (
    <Modal title={text.chat.undoAsk} onClose={onClose}>
      {list.error && <Problem error={list.error} />}
      {point === undefined ? (
        <p className="text-muted">{list.isPending ? text.loading : text.chat.undoNothing}</p>
      ) : (
        <>
          <p className="mb-2 text-muted">{text.chat.undoShow}</p>
          <ChangesSince chat={chat} from={`undo:${point.name}`} />
        </>
      )}
      <div className="mt-3 flex justify-end gap-2">
        <button type="button" className="button" onClick={onClose}>
          {text.actions.cancel}
        </button>
        <ActionButton
          kind="button-main"
          disabled={point === undefined}
          act={async () => {
            await client.chats.post(chat, { text: '/undo' });
            onClose();
          }}
        >
          {text.chat.undo}
        </ActionButton>
      </div>
    </Modal>
  );
}
