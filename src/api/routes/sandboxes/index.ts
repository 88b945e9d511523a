import type { Sandboxes } from '../../../core/persistent.ts';
import type { ApiParts } from '../../environment.ts';
import { create } from './create.ts';
import {
  extend,
  fork,
  inspect,
  label,
  pause,
  remove,
  rename,
  resume,
  start,
  stop,
  thinking,
} from './lifecycle.ts';
import { list } from './list.ts';
import { usage } from './usage.ts';

export function sandboxRoutes(sandboxes: Sandboxes, egress: ApiParts['egress']) {
  return [
    create(egress),
    list((cancel) => sandboxes.all(cancel)),
    inspect,
    remove,
    start,
    stop,
    pause,
    resume,
    extend,
    thinking,
    rename,
    label,
    fork,
    usage,
  ] as const;
}
