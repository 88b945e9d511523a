import type { CheckpointList } from '../../../seams/checkpoints.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { wrongUsage } from '../../input/values.ts';
import { agoText } from '../../render/ages.ts';
import { sizeText } from '../../render/sizes.ts';
import { table } from '../../render/table.ts';

export const sandboxCheckpointCommand: CliCommand = {
  name: 'sandbox checkpoint',
  summary: 'Save a running sandbox with its processes and memory',
  usage: 'create|ls|rm [OPTION …] [USER/]CHAT [NAME]',
  examples: [
    ['geode sandbox checkpoint create demo ready', 'demo goes on; without a name, Geode gives it a number'],
    ['geode sandbox fork --checkpoint ready demo copy', 'continues a copy from there'],
    ['geode sandbox checkpoint ls demo', 'lists checkpoints and their sizes'],
    ['geode sandbox checkpoint rm demo ready', 'frees its disk space'],
  ],
  options: hostingOptions,
  async run(context) {
    const { positionals, json, out, signal } = context;
    const [verb, word, name, ...more] = positionals;
    const isComplete = verb === 'create' || (verb === 'ls' ? name === undefined : name !== undefined);
    if (!verbs.includes(verb ?? '') || word === undefined || !isComplete || more.length > 0)
      throw wrongUsage('Give create, ls or rm, one [USER/]CHAT, and the NAME of the checkpoint');
    await using host = await connectHost(context);
    const chat = await host.chat(word);
    if (verb === 'ls') {
      const list = await chat.ask((own, of) => own.checkpoints.list(of, { signal }));
      if (json) out(JSON.stringify(list));
      else for (const line of listed(list, shownName(chat.name))) out(line);
    } else if (verb === 'rm') {
      const removed = await chat.ask((own, of) => own.checkpoints.remove(of, name ?? '', { signal }));
      out(
        json
          ? JSON.stringify({ name, removed })
          : `${name}: ${removed ? 'removed' : 'there is no such checkpoint'}`,
      );
    } else {
      const taken = await chat.ask((own, of) => own.checkpoints.take(of, { name }, { signal }));
      const { memoryBytes, fileBytes } = taken;
      out(
        json
          ? JSON.stringify(taken)
          : `${taken.name}: ${sizeText(memoryBytes)} of memory, ${sizeText(fileBytes)} of files`,
      );
    }
    return exitCodes.done;
  },
};

const verbs = ['create', 'ls', 'rm'];

function listed({ checkpoints, diskBytes }: CheckpointList, title: string): readonly string[] {
  if (checkpoints.length === 0) return [`${title} has no checkpoint.`];
  const rows = checkpoints.map(({ name, takenAt, memoryBytes, fileBytes, format }) => [
    name,
    agoText(takenAt),
    sizeText(memoryBytes),
    sizeText(fileBytes),
    format,
  ]);
  return [
    ...table([['CHECKPOINT', 'TAKEN', 'MEMORY', 'FILES', 'SAVED BY'], ...rows]),
    `${sizeText(diskBytes)} on disk`,
  ];
}
