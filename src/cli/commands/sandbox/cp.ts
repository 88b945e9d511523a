import { type CliCommand, exitCodes, text } from '../../command.ts';
import { type Copied, copyIn, copyOut, sideOf } from '../../copy-files.ts';
import { connectHost, hostingOptions } from '../../hosting.ts';
import { shownName } from '../../input/chat-name.ts';
import { sizeFrom } from '../../input/sandbox-options.ts';
import { wrongUsage } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';

export const sandboxCpCommand: CliCommand = {
  name: 'sandbox cp',
  summary: 'Copy files into or out of a sandbox',
  usage: '[OPTION …] SOURCE TARGET',
  examples: [
    ['geode sandbox cp src demo:app', 'copies a folder into app if that exists, else as app'],
    ['geode sandbox cp alice/demo:out/report.pdf .', 'sandbox paths start at the workspace'],
    ['geode sandbox cp demo:data.csv - | head', '- is stdout or stdin'],
    ['geode sandbox cp --max 50g demo:/ root', 'copies all files of the sandbox, at most this size'],
    ['geode sandbox cp ./a:b demo:', 'start a local path that has a colon with . or /'],
  ],
  options: {
    ...hostingOptions,
    max: {
      type: 'string',
      value: 'SIZE',
      description: 'maximum bytes that a copy out may write here (default: the disk limit of the sandbox)',
    },
  },
  async run(context) {
    const { positionals, values, json, out, err } = context;
    const [from, to, ...more] = positionals.map(sideOf);
    if (from === undefined || to === undefined || more.length > 0)
      throw wrongUsage('Give one SOURCE and one TARGET');
    if ((from.word === undefined) === (to.word === undefined))
      throw wrongUsage('Give [USER/]CHAT:PATH as SOURCE or TARGET, and a local path as the other');
    const isOut = from.word !== undefined;
    const max = text(values, 'max');
    const asked = max === undefined ? undefined : sizeFrom(max, '--max');
    await using host = await connectHost(context);
    const { name, ask, within } = await host.chat(from.word ?? to.word ?? '');
    await ask((own, chat) => own.start(chat, { signal: context.signal }));
    const copied = await within((sandbox) =>
      isOut
        ? copyOut(sandbox, from.path, to.path, context, asked)
        : copyIn(sandbox, from.path, to.path, context),
    );
    const target = isOut ? copied.to : `${shownName(name)}:${copied.to}`;
    if (!json) err(`copied ${copiedText(copied)} to ${printableLine(target)}`);
    else if (to.path !== '-') out(JSON.stringify({ ...name, direction: isOut ? 'out' : 'in', ...copied }));
    return exitCodes.done;
  },
};

function copiedText({ from, type, entries }: Copied): string {
  return type === 'file' ? printableLine(from) : `${printableLine(from)} (${entries} entries)`;
}
