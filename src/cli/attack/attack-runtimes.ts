import { GeodeError } from '../../base/errors.ts';
import { type CliContext, exitCodes, text } from '../command.ts';
import { pullOf } from '../render/show-pull.ts';
import { attack, type Scorecard } from './attack.ts';
import { hasFailed, showScorecard } from './show-scorecard.ts';
import { openTargets } from './targets.ts';

/** Runs `geode doctor --attack` on every available runtime, or on the named one. */
export async function attackRuntimes(context: CliContext): Promise<number> {
  const { geode: open, loaded, json, out, signal, values } = context;
  const named = text(values, 'runtime');
  const geode = await open();
  const probed = (await geode.probe()).filter(({ runtime }) => named === undefined || runtime.name === named);
  if (probed.length === 0) throw new GeodeError('invalid_input', `There is no runtime ${named}.`);
  const { host: engine } = (await loaded()).config.docker;
  await using targets = await openTargets(engine.replace(/^unix:\/\//, ''));
  const pull = pullOf(context);
  const cards: Scorecard[] = [];
  for (const { runtime, found } of probed) {
    if (!found.available) {
      if (named !== undefined)
        throw new GeodeError('runtime_unavailable', `${named}: ${found.reason}.`, { hint: found.fix });
      if (!json) out(`${runtime.name}: not attacked, it does not work here: ${found.reason}.\n`);
      continue;
    }
    const card = await attack(
      { name: runtime.name, ...found },
      { geode, targets, onPull: pull.show, signal },
    ).finally(pull.end);
    cards.push(card);
    if (!json) showScorecard(card, context);
  }
  if (json) out(JSON.stringify({ runtimes: cards }, null, 2));
  return hasFailed(cards, named) ? exitCodes.failed : exitCodes.done;
}
