import * as Dialog from '@radix-ui/react-dialog';
import { X } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import { text } from '../text.ts';

export function Modal({
  title,
  onClose,
  isBare = false,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  /** Without a visible title: the content has its own head. */
  readonly isBare?: boolean;
  readonly children: ReactNode;
}) {
  const opener = useRef(document.activeElement);
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Dialog.Content
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            // A person at the keyboard continues at the same place.
            event.preventDefault();
            if (opener.current instanceof HTMLElement) opener.current.focus();
          }}
          className={`fixed top-[8dvh] left-1/2 z-40 flex max-h-[84dvh] w-[min(42rem,94vw)] -translate-x-1/2 flex-col overflow-auto rounded-dialog border border-line bg-overlay shadow-float ${isBare ? '' : 'p-4'}`}
        >
          <Dialog.Title className={isBare ? 'sr-only' : 'mb-3 pr-8 text-title font-semibold break-words'}>
            {title}
          </Dialog.Title>
          {children}
          {!isBare && (
            <Dialog.Close className="icon-button absolute top-3 right-3" aria-label={text.actions.close}>
              <X aria-hidden size={16} strokeWidth={1.75} />
            </Dialog.Close>
          )}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
