import type { CardChild, CardElement } from 'chat';
import type { Outgoing } from '../../seams/channel.ts';

/** A message with buttons, in the adapters' format. */
export function cardOf(text: string, buttons: NonNullable<Outgoing['buttons']>): CardElement {
  return {
    type: 'card',
    children: [{ type: 'text', content: text }, ...(buttons.length === 0 ? [] : [actionsOf(buttons)])],
  };
}

function actionsOf(buttons: NonNullable<Outgoing['buttons']>): Extract<CardChild, { type: 'actions' }> {
  return {
    type: 'actions',
    children: buttons.map(({ label, value }, index) => ({ type: 'button', id: `b${index}`, label, value })),
  };
}
