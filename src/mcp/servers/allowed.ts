/** Names of tools in allow-lists: `memory_search`, `files__read`, and `files__*` for all tools of a server. */

/** Separator between the name of a server and that of its tool. */
export const separator = '__';

export function isOffered(allowed: readonly string[], tool: string): boolean {
  return allowed.some(
    (each) => each === tool || (each.endsWith(`${separator}*`) && tool.startsWith(each.slice(0, -1))),
  );
}

/** The server that a tool name refers to; undefined for Geode's own tools. */
export function serverOf(tool: string): string | undefined {
  const at = tool.indexOf(separator);
  return at > 0 ? tool.slice(0, at) : undefined;
}
