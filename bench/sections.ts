import { dashboardSection } from './dashboard/dashboard.ts';
import type { Section } from './section.ts';
import { agentsSection } from './spine/agents.ts';
import { burstSection } from './spine/burst.ts';
import { chatSection } from './spine/chat.ts';
import { createSection } from './spine/create.ts';
import { egressSection } from './spine/egress.ts';
import { execSection } from './spine/exec.ts';
import { firstByteSection } from './spine/first-byte.ts';
import { footprintSection } from './spine/footprint.ts';
import { growthSection } from './spine/growth.ts';
import { mcpSection } from './spine/mcp.ts';
import { outputSection } from './spine/output.ts';
import { persistentSection } from './spine/persistent.ts';
import { sustainedSection } from './spine/sustained.ts';
import { terminalSection } from './spine/terminal.ts';
import { transferSection } from './spine/transfer.ts';
import { workspacesSection } from './spine/workspaces.ts';

/** All that the bench knows, in the order in which it is measured and shown. */
export const sections: readonly Section[] = [
  execSection,
  firstByteSection,
  burstSection,
  outputSection,
  transferSection,
  createSection,
  footprintSection,
  growthSection,
  persistentSection,
  sustainedSection,
  workspacesSection,
  egressSection,
  mcpSection,
  chatSection,
  agentsSection,
  terminalSection,
  dashboardSection,
];
