/** Agents as models: `geode` is the default agent, `geode/DRIVER` one of the others, `geode/DRIVER/MODEL` its model. */
import { GeodeError } from '../../base/errors.ts';
import type { Agents, SendOptions } from '../../seams/agent.ts';

const own = 'geode';

export function modelNames({ drivers }: Agents): readonly string[] {
  return [own, ...drivers.map((name) => `${own}/${name}`)];
}

export function agentOf(agents: Agents, name: string): Pick<SendOptions, 'driver' | 'model'> {
  if (name === own) return {};
  const [first, wanted, ...rest] = name.split('/');
  const driver = agents.drivers.find((each) => each === wanted);
  if (first !== own || driver === undefined || rest.includes(''))
    throw new GeodeError(
      'agent_not_found',
      `The model ${JSON.stringify(name.slice(0, 100))} does not exist.`,
      {
        hint: `The models are ${modelNames(agents).join(', ')}.`,
        details: { param: 'model' },
      },
    );
  return rest.length === 0 ? { driver } : { driver, model: rest.join('/') };
}
