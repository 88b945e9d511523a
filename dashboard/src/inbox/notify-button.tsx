import { Bell, BellOff } from 'lucide-react';
import { useState } from 'react';
import { text } from '../text.ts';
import { isNotifying, keepNotifying } from './notify.ts';

/** Switches notifications of the browser on and off. */
export function NotifyButton() {
  const [isOn, setOn] = useState(isNotifying);
  const Icon = isOn ? Bell : BellOff;
  if (!('Notification' in globalThis)) return null;
  const change = async () => {
    const next = !isOn && (await Notification.requestPermission()) === 'granted';
    keepNotifying(next);
    setOn(next);
  };
  return (
    <button type="button" className="button button-quiet" aria-pressed={isOn} onClick={() => void change()}>
      <Icon aria-hidden size={16} strokeWidth={1.75} />
      {text.notify.button}
    </button>
  );
}
