import type { PlaceProps } from '../page.tsx';
import { SandboxPage } from './sandbox.tsx';
import { SandboxesPage } from './sandboxes.tsx';

export function SandboxesPlace({ rest: [name, part, item], isWide }: PlaceProps) {
  if (name === undefined) return <SandboxesPage />;
  return <SandboxPage key={name} chat={name} tab={part ?? 'overview'} item={item} isWide={isWide} />;
}
