/**
 * The policy's verdict on a command, and the closed list of its rules.
 *
 * Inside the policy a refusal is thrown, so that it leaves any depth of nesting at once; `judge` turns it into a
 * verdict and never throws.
 */
export const ruleHints = {
  destroy: 'Name the exact folder to change, below the workspace or /tmp; no variable in it may be empty.',
  device: 'Work on an image file instead of a device.',
  'fork-bomb': 'Start a limited number of processes and `wait` for them.',
  'reverse-shell': 'Use `nc -z host port` to test a port, or the client program of the service.',
  'download-and-run': 'Download to a file, read it, and run it with a later command.',
  'hidden-command': 'Decode into a file, read it, and run it with a later command.',
  'key-files': 'Use a binding for credentials in a sandbox; read another file.',
  'not-listed': 'Use a program on the allow list, or add this one to it.',
  dynamic: 'In strict mode write every program and script out in full.',
  unparsable: 'Correct the syntax and send the command again.',
  'too-long': 'Write the script into a file of the workspace and run the file.',
  'too-complex': 'Split the command into several smaller ones.',
} as const satisfies Record<string, string>;

export type RuleName = keyof typeof ruleHints;

interface Blocked {
  readonly allowed: false;
  readonly rule: RuleName;
  /** One sentence for people and models: what the command would do. */
  readonly reason: string;
  readonly hint: string;
  /** The part of the command that was refused, shortened. */
  readonly at: string;
}

export type CommandVerdict = { readonly allowed: true } | Blocked;

/** Thrown inside the policy only. */
export class CommandRefusal extends Error {
  override readonly name = 'Refusal';
  readonly rule: RuleName;
  readonly at: string;

  constructor(rule: RuleName, reason: string, at: string) {
    super(reason);
    this.rule = rule;
    this.at = at;
  }
}

const shownLength = 200;

/** A piece of a command for display: one line, limited in length, without placeholders for unknown text. */
export function excerpt(text: string): string {
  const line = text
    .replace(/[\uE000-\uF8FF]/g, '…')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > shownLength ? `${line.slice(0, shownLength)}…` : line;
}
