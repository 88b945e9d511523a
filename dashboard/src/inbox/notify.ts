/** Notifications of the browser, only for a person who asked for them. */
import { useEffect } from 'react';
import { live } from '../live.ts';
import { nameText } from '../shown.ts';
import { text } from '../text.ts';

const storageName = 'geode-notify';

export function isNotifying(): boolean {
  return (
    'Notification' in globalThis &&
    Notification.permission === 'granted' &&
    localStorage.getItem(storageName) === 'on'
  );
}

export function keepNotifying(isOn: boolean): void {
  localStorage.setItem(storageName, isOn ? 'on' : 'off');
}

/** Reports that an agent asks or has finished, while the page is in the background. */
export function useNotifications(): void {
  useEffect(
    () =>
      live.listen((event) => {
        if (event === 'reset' || !isNotifying() || document.visibilityState === 'visible') return;
        if (event.type === 'approval-asked')
          new Notification(text.notify.asks(nameText(event.chat ?? text.product)), { tag: event.approval });
        if (event.type === 'turn-end')
          new Notification(text.notify.finished(nameText(event.chat)), { tag: event.turn });
      }),
    [],
  );
}
