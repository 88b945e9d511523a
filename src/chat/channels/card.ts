import type { CardElement } from 'chat';
import type { Outgoing } from '../../core/channel.ts';

/** A message with buttons, as the adapters know it. */
export function cardOf(text: string, buttons: NonNullable<Outgoing['buttons']>): CardElement {
  return {
    type: 'card',
    children: [
      { type: 'text', content: text },
      {
        type: 'actions',
        children: buttons.map(({ label, value }, index) => ({
          type: 'button',
          id: `b${index}`,
          label,
          value,
        })),
      },
    ],
  };
}
