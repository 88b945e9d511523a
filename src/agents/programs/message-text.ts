import type { DriverTurn } from '../driver.ts';

/** The message as a program reads it: the words, and where the files are. */
export function messageText({ message, attachments }: DriverTurn): string {
  return message + attachments.map((path) => `\n[attached: ${path}]`).join('');
}
