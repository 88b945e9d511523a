import {
  Camera,
  Ellipsis,
  GitFork,
  MemoryStick,
  MessageSquare,
  Moon,
  Pause,
  Play,
  Square,
  Trash2,
} from 'lucide-react';
import { useState } from 'react';
import type { SandboxStatus } from '../../../src/seams/persistent.ts';
import { client } from '../api.ts';
import { goTo, pathTo } from '../route.ts';
import { text } from '../text.ts';
import { ActionButton } from '../ui/button.tsx';
import { TextField } from '../ui/field.tsx';
import { ActionForm } from '../ui/form.tsx';
import { Modal } from '../ui/modal.tsx';
import { ForkDialog } from './fork-dialog.tsx';
import { useSavesMemory } from './use-saves-memory.ts';

const icon = { 'aria-hidden': true, size: 14, strokeWidth: 1.75 } as const;

/** The acts on a sandbox, in its bar: only those that its state and its runtime allow. */
export function SandboxActions({ status }: { readonly status: SandboxStatus }) {
  const { chat, state } = status;
  const { sandboxes } = client;
  const [open, setOpen] = useState<'fork' | 'more'>();
  const savesMemory = useSavesMemory(status);
  const isRunning = state === 'running';
  const close = () => setOpen(undefined);
  return (
    <span className="flex flex-wrap gap-2">
      <a className="button max-md:hidden" href={`#${pathTo('chat', chat)}`}>
        <MessageSquare {...icon} />
        {text.nav.chat}
      </a>
      {isRunning && (
        <ActionButton
          className="button max-md:hidden"
          act={async () => {
            await sandboxes.of(chat).snapshots.take();
            goTo('sandboxes', chat, 'timeline');
          }}
        >
          <Camera {...icon} />
          {text.acts.snapshot}
        </ActionButton>
      )}
      <button type="button" className="button" aria-haspopup="dialog" onClick={() => setOpen('fork')}>
        <GitFork {...icon} />
        {text.acts.fork}
      </button>
      {(state === 'stopped' || state === 'hibernated') && (
        <ActionButton kind="button-main" act={() => sandboxes.start(chat)}>
          <Play {...icon} />
          {text.sandboxes.start}
        </ActionButton>
      )}
      {state === 'paused' && (
        <ActionButton kind="button-main" act={() => sandboxes.resume(chat)}>
          <Play {...icon} />
          {text.sandboxes.resume}
        </ActionButton>
      )}
      {isRunning && (
        <>
          <ActionButton act={() => sandboxes.pause(chat)}>
            <Pause {...icon} />
            {text.sandboxes.pause}
          </ActionButton>
          <ActionButton
            className="icon-button"
            aria-label={text.sandboxes.stop}
            title={text.sandboxes.stop}
            act={() => sandboxes.stop(chat)}
          >
            <Square {...icon} />
          </ActionButton>
        </>
      )}
      <ActionButton
        className="icon-button text-bad"
        aria-label={text.sandboxes.remove}
        title={text.sandboxes.remove}
        word={text.sandboxes.remove}
        ask={text.sandboxes.removeAsk}
        act={async () => {
          await sandboxes.remove(chat);
          goTo('sandboxes');
        }}
      >
        <Trash2 {...icon} />
      </ActionButton>
      {isRunning && savesMemory && (
        <button
          type="button"
          className="icon-button"
          aria-label={text.acts.more}
          title={text.acts.more}
          aria-haspopup="dialog"
          onClick={() => setOpen('more')}
        >
          <Ellipsis {...icon} />
        </button>
      )}
      {open === 'fork' && <ForkDialog chat={chat} mayBeLive={isRunning && savesMemory} onClose={close} />}
      {open === 'more' && <More chat={chat} onClose={close} />}
    </span>
  );
}

/** The acts on the memory of a running sandbox. */
function More({ chat, onClose }: { readonly chat: string; readonly onClose: () => void }) {
  const { sandboxes } = client;
  return (
    <Modal title={text.acts.more} onClose={onClose}>
      <div className="flex flex-col gap-5">
        <section className="flex flex-col gap-2">
          <h3 className="flex items-center gap-2 font-semibold">
            <MemoryStick {...icon} />
            {text.acts.checkpoint}
          </h3>
          <p className="text-muted">{text.acts.checkpointHow}</p>
          <ActionForm
            submit={text.acts.checkpoint}
            isRow
            act={async ({ name = '' }) => {
              await sandboxes.checkpoints.take(chat, name === '' ? {} : { name });
              onClose();
              goTo('sandboxes', chat, 'timeline');
            }}
          >
            <TextField label={text.acts.checkpointName} name="name" maxLength={64} />
          </ActionForm>
        </section>
        <section className="flex flex-col items-start gap-2">
          <h3 className="flex items-center gap-2 font-semibold">
            <Moon {...icon} />
            {text.acts.hibernate}
          </h3>
          <p className="text-muted">{text.acts.hibernateHow}</p>
          <ActionButton
            act={async () => {
              await sandboxes.hibernate(chat);
              onClose();
            }}
          >
            {text.acts.hibernate}
          </ActionButton>
        </section>
      </div>
    </Modal>
  );
}
