import type { crystals } from '../../contract/solve.ts';
import { trustOf } from '../../seams/solve.ts';
import type { Crystal } from '../../solve/crystal.ts';
import type { OpenedSolves, UserCrystals } from '../../solve/open-solves.ts';
import { newEgress } from '../egress-reach.ts';
import type { ApiParts } from '../environment.ts';
import type { Handlers } from '../serve.ts';

export function crystalHandlers(
  { crystals: of }: Pick<OpenedSolves, 'crystals'>,
  host: ApiParts['egress'],
): Handlers<typeof crystals> {
  return {
    async list(_, { caller }) {
      const own = of(caller.user);
      return (await own.list()).map((each) => shown(each, own));
    },
    async get({ key }, { caller }) {
      const own = of(caller.user);
      return shown(await own.get(key), own);
    },
    async change({ key, ...change }, { caller }) {
      const own = of(caller.user);
      return shown(await own.edit(key, change), own);
    },
    async verify({ key, egress: asked }, call) {
      const own = of(call.caller.user);
      const egress = asked && newEgress(call, host, asked);
      const options = { ...(egress && { egress }), signal: call.signal };
      const { crystal, verdict } = await own.verify(key, options);
      return { crystal: shown(crystal, own), verdict };
    },
    async remove({ key }, { caller }) {
      await of(caller.user).remove(key);
    },
  };
}

function shown(crystal: Crystal, own: UserCrystals) {
  return { ...crystal, trust: trustOf(crystal), standing: own.standing(crystal) };
}
