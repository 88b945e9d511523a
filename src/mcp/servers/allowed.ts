/** Names of tools in allow-lists: `memory_search`, `files__read`, and `files__*` for all tools of a server. */

/** Between the name of a server and that of its tool. */
export const separator = '__';

export function isAllowed(allowed: readonly string[], tool: string): boolean {
  return allowed.some(
    (each) => each === tool || (each.endsWith(`${separator}*`) && tool.startsWith(each.slice(0, -1))),
  );
}

/** The server whose tool it would be; undefined for a tool of Geode's own. */
export function serverOf(tool: string): string | undefined {
  const at = tool.indexOf(separator);
  return at > 0 ? tool.slice(0, at) : undefined;
}
