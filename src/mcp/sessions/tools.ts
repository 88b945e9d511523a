/** Every tool that a session can have. A new tool needs one line here and one file next to the others. */
import { askPersonTool } from '../tools/ask-person.ts';
import { egressRequest } from '../tools/egress-request.ts';
import { listResources } from '../tools/list-resources.ts';
import { memorySearch } from '../tools/memory-search.ts';
import { sessionMemoryStore } from '../tools/memory-store.ts';
import { readResource } from '../tools/read-resource.ts';
import { runCode } from '../tools/run-code.ts';
import { scheduleTools } from '../tools/schedules.ts';
import { solve } from '../tools/solve.ts';
import type { SessionTool } from './session-call.ts';

export const sessionTools: readonly SessionTool[] = [
  memorySearch,
  sessionMemoryStore,
  runCode,
  solve,
  askPersonTool,
  egressRequest,
  listResources,
  readResource,
  ...scheduleTools,
];
