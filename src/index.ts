/** Geode as a library: `createApp` opens sandboxes; the types are the seams. */
export { type App, createApp } from './app.ts';
export { type Host, thisHost } from './config/host.ts';
export { type LoadedConfig, loadConfig } from './config/load.ts';
export type { Config } from './config/schema.ts';
export { type ErrorCode, errorCatalogue, GeodeError, isGeodeError } from './core/errors.ts';
export type * from './core/files.ts';
export type { Limits } from './core/limits.ts';
export type * from './core/persistent.ts';
export type * from './core/process.ts';
export type * from './core/runtime.ts';
export type {
  Freezer,
  Grade,
  Metrics,
  Mount,
  Network,
  Sandbox,
  SandboxSpec,
  Workspace,
} from './core/sandbox.ts';
export { defaultShellPolicy, type ShellPolicy } from './core/shell-policy.ts';
export type * from './core/snapshots.ts';
export { type Usage, watchMetrics } from './sandboxes/metrics.ts';
export { formatResult } from './shell/format.ts';
export { judge } from './shell/policy.ts';
export { shellTool } from './shell/tool.ts';
