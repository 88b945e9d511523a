import type { SandboxWorld } from '../sandboxes/world.ts';
import { chatsContract } from './sandboxes/chats.ts';
import { hostsContract } from './sandboxes/hosts.ts';
import { lifeContract } from './sandboxes/life.ts';
import { sweepContract } from './sandboxes/sweep.ts';
import { workspaceContract } from './sandboxes/workspace.ts';

/** Tests for every registry of sandboxes, with any runtime. */
export function sandboxesContract(open: () => Promise<SandboxWorld>): void {
  chatsContract(open);
  lifeContract(open);
  workspaceContract(open);
  hostsContract(open);
  sweepContract(open);
}
