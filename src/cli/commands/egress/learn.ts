import { ruleWords } from '../../../contract/egress-rules.ts';
import { chatClient } from '../../chat-client.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { chatOptions } from '../../input/chat-name.ts';
import { onePositional, wrongUsage } from '../../input/values.ts';
import { shownEgress } from '../../render/egress.ts';

export const egressLearnCommand: CliCommand = {
  name: 'egress learn',
  summary: 'Record what a sandbox reaches and make it a policy',
  usage: '[OPTION …] [USER/]CHAT',
  examples: [
    ['geode egress learn demo', 'allows and records every public address from now on'],
    ['geode egress learn --show demo', 'prints the policy learned so far'],
    ['geode egress learn --stop demo', 'allows exactly the recorded addresses from now on'],
  ],
  options: {
    ...chatOptions,
    show: { type: 'boolean', description: 'print the policy learned so far' },
    stop: { type: 'boolean', description: 'stop recording and set the smallest policy that allows it all' },
  },
  async run(context) {
    const { values, json, out, err, signal } = context;
    if (values.show === true && values.stop === true) throw wrongUsage('Give --show or --stop, not both');
    const chat = await chatClient(onePositional(context, '[USER/]CHAT'), context);
    const isLearned = values.show === true || values.stop === true;
    const spec = await chat.ask(({ egress }) =>
      isLearned ? egress.learned({ apply: values.stop === true, signal }) : egress.learn({ signal }),
    );
    if (json) out(JSON.stringify(spec));
    else {
      for (const line of shownEgress(spec)) out(line);
      const words = spec.policy.allow.flatMap(ruleWords).map((word) => `--allow ${quoted(word)}`);
      if (isLearned && words.length > 0) err(`geode: as options: ${words.join(' ')}`);
    }
    return exitCodes.done;
  },
};

/** Words with spaces and stars are one word of the shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./[\]-]+$/.test(word) ? word : `'${word}'`;
}
