/** The report of unattended work: a summary and a diff, as a file and in a few lines. */
import { writeFile } from 'node:fs/promises';
import { isGeodeError } from '../../base/errors.ts';
import type { RemoteSandbox } from '../../client/sandbox.ts';
import type { AgentEvent } from '../../seams/agent.ts';
import type { Change } from '../../seams/snapshots.ts';
import { printable, printableLine } from '../render/printable.ts';
import { isKept } from './local-tree.ts';

const mostLine = 200;
const unshown = ['too_large', 'not_a_file', 'file_not_found', 'file_refused'] as const;

/** Passes on the events of a turn and collects data for the report. */
export class TurnNotes {
  readonly #began = new Date();
  readonly #calls: { readonly id: string; readonly words: string; failed: boolean }[] = [];
  #denied = 0;
  #last: AgentEvent | undefined;

  async *of(events: AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent> {
    for await (const event of events) {
      if (event.type === 'tool-call')
        this.#calls.push({ id: event.id, words: callText(event.tool, event.input), failed: false });
      if (event.type === 'tool-result' && event.failed) this.#fail(event.id);
      if (event.type === 'permission-answer' && event.answer === 'deny') this.#denied += 1;
      this.#last = event;
      yield event;
    }
  }

  /** One line: how it ended, and how much was done. */
  get summary(): string {
    const failed = this.#calls.filter((call) => call.failed).length;
    const denied = this.#denied === 0 ? '' : `, ${this.#denied} denied`;
    return `${endText(this.#last)}; ${this.#calls.length} calls of tools, ${failed} failed${denied}`;
  }

  text(folder: string, prompt: string, changes: string): string {
    const answer = this.#last?.type === 'result' ? this.#last.text : '';
    return [
      `# ${printableLine(folder)}, ${this.#began.toISOString()} to ${new Date().toISOString()}`,
      `Asked: ${printable(prompt)}`,
      this.summary,
      ...(answer.trim() === '' ? [] : ['## Answer', printable(answer)]),
      '## Calls of tools',
      this.#calls.map(({ words, failed }) => `- ${words}${failed ? ' (failed)' : ''}`).join('\n') || 'None.',
      '## Changes in the copy',
      changes === '' ? 'None.' : `~~~~diff\n${changes}\n~~~~`,
      '',
    ].join('\n\n');
  }

  #fail(id: string): void {
    const call = this.#calls.findLast((each) => each.id === id);
    if (call !== undefined) call.failed = true;
  }
}

/** A unified diff of everything that changed in the copy since a snapshot. */
export async function changesSince(
  { snapshots }: Pick<RemoteSandbox, 'snapshots'>,
  from: string,
): Promise<string> {
  const changes: Change[] = [];
  for await (const change of snapshots.diff(from)) if (!isKept(change.path)) changes.push(change);
  const texts: string[] = [];
  for (const change of changes) texts.push(await changeText(snapshots, change, from));
  return texts.filter((each) => each !== '').join('\n');
}

async function changeText(
  snapshots: RemoteSandbox['snapshots'],
  change: Change,
  from: string,
): Promise<string> {
  const types = [change.before?.type, change.after?.type];
  if (types.every((type) => type === undefined || type === 'directory')) return '';
  const name = `${change.change} ${printableLine(change.path)}`;
  try {
    const text = types.includes('file') ? await snapshots.textDiff(change, from) : '';
    return text === '' ? name : printable(text.trimEnd());
  } catch (error) {
    // Too large, or not text: its name has to do.
    if (!unshown.some((code) => isGeodeError(error, code))) throw error;
    return name;
  }
}

/** Writes the report readable only by its owner, because it contains file contents. */
export async function writeReport(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
}

function callText(tool: string, input: unknown): string {
  const words = printableLine(`${tool} ${typeof input === 'string' ? input : JSON.stringify(input)}`);
  return words.length <= mostLine ? words : `${words.slice(0, mostLine)}…`;
}

function endText(last: AgentEvent | undefined): string {
  if (last?.type === 'error') return `it failed: ${printableLine(last.message)}`;
  if (last?.type !== 'result') return 'it was left before its end';
  const minutes = `${(last.durationMs / 60_000).toFixed(1)} minutes`;
  const outcomes = { done: 'done', interrupted: 'interrupted', limit: 'stopped at its limit' } as const;
  return `${outcomes[last.outcome]} after ${minutes}${last.cost === null ? '' : `, $${last.cost.toFixed(2)}`}`;
}
