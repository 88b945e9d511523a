import { useQuery, useQueryClient } from '@tanstack/react-query';
import { client } from '../api.ts';
import { goTo } from '../route.ts';
import { text } from '../text.ts';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Modal } from '../ui/modal.tsx';
import { keepDraft } from './queue.ts';

/** A turn that a new chat leaves out, and the message that began it. */
export interface ForkPoint {
  readonly turn: string;
  readonly words: string;
}

interface Shown {
  readonly chat: string;
  /** Undefined: the whole conversation is copied. */
  readonly at?: ForkPoint | undefined;
  readonly onClose: () => void;
}

/** Asks for a name and copies a conversation with its files. The message of the point waits in the new composer. */
export function ForkChat({ chat, at, onClose }: Shown) {
  const queries = useQueryClient();
  const agents = useQuery({ queryKey: ['agents'], queryFn: () => client.agents.list() });
  const hasConversation = agents.data?.some((each) => each.chat === chat) ?? true;
  const title = at === undefined ? text.chat.fork : text.talk.forkHere;
  return (
    <Modal title={title} onClose={onClose}>
      <p className="mb-3 text-muted">{at === undefined ? text.talk.forkHow : text.talk.forkHereHow}</p>
      <ActionForm
        submit={title}
        act={async ({ to = '' }) => {
          if (hasConversation) await client.agents.fork(chat, to, at && { before: at.turn });
          else await client.sandboxes.fork(chat, to);
          if (at !== undefined) keepDraft(to, at.words);
          await queries.invalidateQueries({ queryKey: ['agents'] });
          onClose();
          goTo('chat', to);
        }}
      >
        <TextField label={text.talk.forkName} name="to" required maxLength={512} />
      </ActionForm>
    </Modal>
  );
}
