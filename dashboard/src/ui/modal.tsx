import * as Dialog from '@radix-ui/react-dialog';
import { type ReactNode, useRef } from 'react';
import { text } from '../text.ts';

export function Modal({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const opener = useRef(document.activeElement);
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 bg-black/50" />
        <Dialog.Content
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            // Whoever works by keyboard goes on where they were.
            event.preventDefault();
            if (opener.current instanceof HTMLElement) opener.current.focus();
          }}
          className="card fixed top-[10vh] left-1/2 max-h-[80vh] w-[min(40rem,94vw)] -translate-x-1/2 overflow-auto"
        >
          <Dialog.Title className="mb-2 pr-8 break-words">{title}</Dialog.Title>
          {children}
          <Dialog.Close className="button absolute top-3 right-3" aria-label={text.actions.close}>
            ×
          </Dialog.Close>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
