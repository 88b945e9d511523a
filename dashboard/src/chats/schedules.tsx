import { client } from '../api.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';

/** Schedules are said in the chat itself, and its answers say what came of them. */
export function Schedules({ chat }: { readonly chat: string }) {
  const say = (words: string) => client.chats.post(chat, { text: words });
  return (
    <Card
      title={text.chats.schedules}
      side={<ActionButton act={() => say('/schedule')}>{text.chats.scheduleList}</ActionButton>}
    >
      <ActionForm
        submit={text.chats.schedule}
        act={({ when = '', message = '' }) => say(`/schedule ${when}: ${message}`)}
      >
        <TextField label={text.chats.when} name="when" required placeholder="0 9 * * 1-5" />
        <TextField label={text.chats.what} name="message" required />
      </ActionForm>
    </Card>
  );
}
