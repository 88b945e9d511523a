/** Geode as a library: `createGeode` opens sandboxes; the types are the seams. */

export { errorCatalogue } from './base/error-catalogue.ts';
export { type ErrorCode, GeodeError, isGeodeError } from './base/errors.ts';
export { type LoadedConfig, loadConfig } from './config/load.ts';
export type { Config } from './config/schema.ts';
export { createGeode, type Geode } from './host/geode.ts';
export { type Machine, thisMachine } from './machine/machine.ts';
export { type Usage, watchMetrics } from './sandboxes/metrics.ts';
export type * from './seams/files.ts';
export type { Limits } from './seams/limits.ts';
export type * from './seams/persistent.ts';
export type * from './seams/process.ts';
export type * from './seams/runtime.ts';
export type {
  Freezer,
  Grade,
  Metrics,
  Mount,
  Network,
  Sandbox,
  SandboxSpec,
  Workspace,
} from './seams/sandbox.ts';
export { defaultShellPolicy, type ShellPolicy } from './seams/shell-policy.ts';
export type * from './seams/snapshots.ts';
export { formatResult } from './shell/format.ts';
export { judge } from './shell/policy.ts';
export { shellTool } from './shell/tool.ts';
