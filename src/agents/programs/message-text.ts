import type { DriverTurn } from '../driver.ts';

/** The message in the form that a program reads: the text, and where the files are. */
export function messageText({ message, attachments }: DriverTurn): string {
  return message + attachments.map((path) => `\n[attached: ${path}]`).join('');
}
