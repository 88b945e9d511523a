import { GeodeError } from '../../../base/errors.ts';
import { webhookEvents } from '../../../seams/webhooks.ts';
import { type CliCommand, exitCodes, texts } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { printableLine } from '../../render/printable.ts';
import { forUserOption, userClient } from '../../user-client.ts';

export const webhookAddCommand: CliCommand = {
  name: 'webhook add',
  summary: 'Send events of your sandboxes to a server of yours',
  usage: '[OPTION …] NAME URL',
  examples: [
    ['geode webhook add ops https://hooks.example.com/geode', 'sends every event of a sandbox, signed'],
    [
      'geode webhook add ops https://hooks.example.com/geode --event sandbox-start --event sandbox-remove',
      'replaces it: only these two events',
    ],
    ['geode webhook add ops https://hooks.example.com/geode --off', 'keeps it, and sends nothing'],
  ],
  options: {
    event: {
      type: 'string',
      multiple: true,
      value: 'EVENT',
      description: `one of ${webhookEvents.join(', ')}; may be repeated (default: all)`,
    },
    off: { type: 'boolean', description: 'send nothing until it is added again' },
    ...forUserOption,
  },
  async run(context) {
    const { positionals, values, json, out, signal } = context;
    const [name, url, ...more] = positionals;
    if (name === undefined || url === undefined || more.length > 0)
      throw wrongUsage('geode webhook add takes NAME and URL');
    const events = texts(values, 'event').map(eventNamed);
    const given = { url, enabled: values.off !== true, ...(events.length > 0 && { events }) };
    const made = await userClient(context).webhooks.set(name, given, { signal });
    if (json) out(JSON.stringify(made));
    else {
      out(`${made.name}: calls ${printableLine(made.url)}${made.enabled ? '' : ' (off)'}`);
      if (made.signingSecret === null) out(`Each call is signed with the secret ${made.secret}.`);
      else out(`The secret that signs each call (shown once): ${made.signingSecret}`);
    }
    return exitCodes.done;
  },
};

function eventNamed(word: string) {
  const event = webhookEvents.find((known) => known === word);
  if (event !== undefined) return event;
  throw new GeodeError('invalid_input', `There is no event ${JSON.stringify(word)} for webhooks.`, {
    hint: `Use one of ${webhookEvents.join(', ')}.`,
    details: { usage: true },
  });
}
