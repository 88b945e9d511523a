import { client } from '../api.ts';
import { goTo } from '../route.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Modal } from '../ui/modal.tsx';

interface Shown {
  readonly chat: string;
  readonly onClose: () => void;
  /** With its processes, if a person wants that. */
  readonly mayBeLive?: boolean;
  /** A saved moment, in place of this one. */
  readonly snapshot?: string;
  readonly checkpoint?: string;
}

/** Asks for a name and copies a sandbox. */
export function ForkDialog({ chat, onClose, mayBeLive = false, snapshot, checkpoint }: Shown) {
  const title =
    snapshot === undefined && checkpoint === undefined ? text.acts.forkTitle : text.snapshots.fork;
  return (
    <Modal title={title} onClose={onClose}>
      {snapshot === undefined && (
        <p className="mb-3 text-muted">
          {checkpoint === undefined ? text.acts.forkFiles : text.acts.forkFrom(nameText(checkpoint))}
        </p>
      )}
      <ActionForm
        submit={title}
        act={async ({ to = '', live }) => {
          await client.sandboxes.fork(chat, to, {
            ...(snapshot !== undefined && { snapshot }),
            ...(live !== undefined && { live: true }),
            ...(checkpoint !== undefined && { live: true, checkpoint }),
          });
          onClose();
          goTo('sandboxes', to);
        }}
      >
        <TextField label={text.snapshots.forkName} name="to" required />
        {mayBeLive && (
          <label className="flex items-center gap-2">
            <input type="checkbox" name="live" defaultChecked />
            {text.acts.forkLive}
          </label>
        )}
      </ActionForm>
    </Modal>
  );
}
