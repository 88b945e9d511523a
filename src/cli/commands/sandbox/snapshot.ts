import type { Snapshot, SnapshotList } from '../../../seams/snapshots.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';

export const sandboxSnapshotCommand: CliCommand = {
  name: 'sandbox snapshot',
  summary: 'Save the files of a sandbox, or list its snapshots',
  usage: '[OPTION …] [USER/]CHAT [NAME]',
  examples: [
    ['geode sandbox snapshot demo before', 'without a name, Geode gives it a number'],
    ['geode sandbox snapshot --list demo', 'lists snapshots; see restore, diff and fork'],
    ['geode sandbox snapshot --rm before demo', 'removes one and frees its disk space'],
  ],
  options: {
    ...hostingOptions,
    list: { type: 'boolean', short: 'l', description: 'list the snapshots' },
    rm: { type: 'string', value: 'NAME', description: 'remove this one' },
  },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const [word, name, ...more] = positionals;
    if (word === undefined || more.length > 0) throw wrongUsage('Give one [USER/]CHAT, and at most one NAME');
    await using host = await connectHost(context);
    const chat = await host.chat(word);
    const unwanted = text(values, 'rm');
    if (values.list === true) {
      const list = await chat.within(({ snapshots }) => snapshots.list({ signal }));
      if (json) out(JSON.stringify(list));
      else for (const line of listed(list, shownName(chat.name))) out(line);
    } else if (unwanted !== undefined) {
      const removed = await chat.within(({ snapshots }) => snapshots.remove(unwanted, { signal }));
      out(
        json
          ? JSON.stringify({ name: unwanted, removed })
          : `${unwanted}: ${removed ? 'removed' : 'there is no such snapshot'}`,
      );
    } else {
      const named = name === undefined ? {} : { name };
      const taken = await chat.within(({ snapshots }) => snapshots.take({ ...named, signal }));
      out(json ? JSON.stringify(taken) : `${taken.name}: ${contentText(taken)}`);
    }
    return exitCodes.done;
  },
};

function listed({ snapshots, diskBytes }: SnapshotList, title: string): readonly string[] {
  if (snapshots.length === 0) return [`${title} has no snapshot.`];
  const rows = snapshots.map((snapshot) => [
    snapshot.kind === 'undo' ? `${snapshot.name} (undo)` : snapshot.name,
    agoText(snapshot.takenAt),
    sizeText(snapshot.bytes),
    sizeText(snapshot.addedBytes),
    contentText(snapshot),
  ]);
  return [
    ...table([['SNAPSHOT', 'TAKEN', 'SIZE', 'ADDED', 'CONTENT'], ...rows]),
    `${sizeText(diskBytes)} on disk`,
  ];
}

function contentText({ files, folders, links, leftOut }: Snapshot): string {
  const missing = leftOut.special + leftOut.unreadable;
  const note = missing === 0 ? '' : `, ${missing} not kept (sockets, pipes, unreadable)`;
  return `${files} files, ${folders} folders, ${links} links${note}`;
}
